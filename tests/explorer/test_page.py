"""The page in a real browser: every test compares numbers on it with Python's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import START, as_text, lead, settled, until, values

import whatfor as wf
from planted import GRID, grid, with_loop
from whatfor.explorer.desk import MAX_FINDINGS, ROLLOUTS
from whatfor.explorer.page import _asset
from whatfor.runs import Run
from whatfor.text import amount, percent
from whatfor.worlds.taxi import LABELS


def test_it_begins_with_the_first_step_of_an_episode(site: str, opened: Any, taxi: Run) -> None:
    page = opened(site)
    state = taxi.labels.index(page.locator("#state").input_value())
    assert values(page) == as_text(taxi.values[state], page)
    assert lead(page, "intention") == taxi.intention(state).sentences()[0]
    assert page.locator("#answer-intention .badge").inner_text() == "exact"


def test_clicking_a_cell_asks_about_it(site: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}")
    second, _ = taxi.episode(START)[1]
    row, column, *_ = LABELS.values(second)
    page.locator(f"#board [data-row='{row}'][data-column='{column}']").click()
    settled(page)
    assert page.locator("#state").input_value() == LABELS.words(second)
    assert values(page) == as_text(taxi.values[second], page)
    shown = page.locator("#answer-intention svg text").all_text_contents()
    most = sorted(taxi.intention(second).visits.sum(axis=1))[-2]
    assert f"{most:.2f}" in shown


def test_choosing_a_foil_contrasts(site: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}")
    page.get_by_label("instead of east", exact=True).check()
    settled(page)
    why = taxi.contrast(START, instead="east")
    assert lead(page, "contrast") == why.sentences()[0]
    assert page.locator("#answer-contrast .lines").inner_text().splitlines() == [
        line.rstrip() for line in why.sentences()[1:]
    ]
    assert "instead=2" in page.url
    page.get_by_role("button", name="no comparison").click()
    settled(page)
    assert page.locator("#answer-contrast").count() == 0


def test_scrubbing_an_episode_by_hand_and_by_keys(site: str, opened: Any, taxi: Run) -> None:
    page = opened(site)
    start = taxi.labels.index(page.locator("#state").input_value())
    along = taxi.episode(start)
    page.locator("#scrubber").fill("3")
    settled(page)
    state, action = along[3]
    assert page.locator("#step").inner_text().startswith(f"step 4 of {len(along)}: {LABELS.actions[action]}")
    assert values(page) == as_text(taxi.values[state], page)
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    settled(page)
    assert values(page) == as_text(taxi.values[along[4][0]], page)
    page.get_by_role("button", name="previous step").click()
    settled(page)
    assert values(page) == as_text(taxi.values[along[3][0]], page)


def test_playing_goes_to_the_end(live: str, opened: Any, taxi: Run) -> None:
    page = opened(live)
    start = taxi.labels.index(page.locator("#state").input_value())
    along = taxi.episode(start)
    page.locator("#scrubber").fill(str(len(along) - 3))
    page.get_by_role("button", name="play", exact=True).click()
    until(page, f"document.getElementById('step').textContent.startsWith('step {len(along)} of')")
    settled(page)
    assert values(page) == as_text(taxi.values[along[-1][0]], page)
    until(page, "document.getElementById('play').getAttribute('aria-pressed') === 'false'")


def test_scrubbing_training_time(site: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}")
    points = page.evaluate("document.getElementById('time').max")
    page.locator("#time").fill("4")
    settled(page)
    episodes = int(re.findall(r"after ([\d,]+) episode", page.locator("#when").inner_text())[0].replace(",", ""))
    before = taxi.as_of(episodes)
    assert int(points) == 9
    tries = before.tries_at(START)
    assert tries is not None
    assert values(page) == [
        text if n else "no experience" for text, n in zip(as_text(before.values_at(START), page), tries, strict=True)
    ]
    assert lead(page, "intention") == before.intention(START).sentences()[0]
    assert f"as_of={episodes}" in page.url


def test_a_link_carries_the_question(site: str, opened: Any, taxi: Run) -> None:
    state = taxi.episode(START)[2][0]
    best = taxi.best(state)
    foil = (best + 1) % 6
    page = opened(f"{site}#state={state}&action={best}&instead={foil}")
    assert lead(page, "contrast") == taxi.contrast(state, best, foil).sentences()[0]
    again = opened(page.url)
    assert lead(again, "contrast") == lead(page, "contrast")
    assert values(again) == as_text(taxi.values[state], again)


def test_json_is_pythons(site: str, opened: Any, taxi: Run, tmp_path: Path) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}")
    for question in ("intention", "outcomes", "timeline", "provenance", "comparison"):
        assert_json_is_pythons(page, taxi, question, tmp_path, exact=site.startswith("http"))


def assert_json_is_pythons(page: Any, taxi: Run, question: str, tmp_path: Path, *, exact: bool) -> None:
    with page.expect_download() as wait:
        page.locator(f"#answer-{question}").get_by_role("button", name="JSON").click()
    wait.value.save_as(tmp_path / "answer.json")
    got = json.loads((tmp_path / "answer.json").read_text())
    more = {"comparison": {"rollouts": ROLLOUTS}}.get(question, {})
    want = json.loads(json.dumps(getattr(taxi, question)(START, **more).to_json()))
    if question == "provenance":
        want["updates"] = want["updates"][: len(got["updates"])]
    same(got, want, 0.0 if exact else 1e-5)


def same(got: Any, want: Any, tolerance: float) -> None:
    """Number by number; a report leaves out what is too small to be seen in a map."""
    if isinstance(want, dict):
        assert list(got) == list(want)
        for name in want:
            same(got[name], want[name], tolerance)
    elif isinstance(want, list):
        if tolerance and want and isinstance(want[0], dict) and "number" in want[0]:
            least = 1e-6 * max(abs(one["number"]) for one in want)
            want = [one for one in want if abs(one["number"]) >= least]
        assert len(got) == len(want)
        for one, two in zip(got, want, strict=True):
            same(one, two, tolerance)
    elif isinstance(want, float):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=1e-12 if tolerance else 0.0)
    else:
        assert got == want


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_a_picture_can_be_downloaded(site: str, opened: Any, kind: str, tmp_path: Path, taxi: Run) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}")
    with page.expect_download() as wait:
        page.locator("#answer-intention figure").first.get_by_role("button", name=kind).click()
    wait.value.save_as(tmp_path / "picture")
    data = (tmp_path / "picture").read_bytes()
    if kind == "PNG":
        assert data.startswith(b"\x89PNG")
    else:
        visits = taxi.intention(START).visits
        assert f">{visits.sum(axis=1).max():.2f}<" in data.decode()
        assert f">{START}<" in data.decode()
        assert data.decode().startswith("<svg")


def test_a_cell_of_the_map_is_the_state_it_shows(report: Path, opened: Any, taxi: Run) -> None:
    """Where the taxi is expected with the passenger aboard, one asks about that."""
    page = opened(f"{report.as_uri()}#state={LABELS.index(START)}&episode=greedy:{LABELS.index(START)}")
    last = taxi.episode(START)[-2][0]
    row, column, *_ = LABELS.values(last)
    page.locator(f"#answer-intention [data-row='{row}'][data-column='{column}']").press("Enter")
    settled(page)
    assert page.locator("#state").input_value() == LABELS.words(last)
    assert values(page) == as_text(taxi.values[last], page)
    assert page.locator("#step").inner_text().startswith(f"step {len(taxi.episode(START)) - 1} of")


def test_two_scrubbers_go_together(live: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{live}#state={LABELS.index(START)}&as_of=10&episode=greedy:{LABELS.index(START)}")
    page.locator("#scrubber").fill("4")
    settled(page)
    state = taxi.episode(START)[4][0]
    assert lead(page, "intention") == taxi.as_of(10).intention(state).sentences()[0]
    again = opened(f"{live}#state={LABELS.index(START)}&as_of=2000")
    assert values(again) == as_text(taxi.values[LABELS.index(START)], again)
    assert "as_of" not in again.url


def test_a_past_episode_is_replayed(site: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}")
    settled(page)
    strip = taxi.provenance(START).by_episode(60)
    influential = max(strip, key=lambda one: abs(one["deletion"]))
    page.locator(f"#answer-provenance [data-episode='{influential['episode']}']").press("Enter")
    until(page, f"location.hash.includes('past%3A{influential['episode']}')")
    assert taxi.ledger is not None
    first = taxi.ledger.episode(int(influential["episode"]))[0]
    settled(page)
    assert page.locator("#step").inner_text().startswith("step 1 of")
    assert (
        f"{LABELS.actions[first.action]}, reward {amount(first.reward, signed=True)}"
        in page.locator("#step").inner_text()
    )
    assert page.locator("#state").input_value() == LABELS.words(first.state)
    assert values(page) == as_text(taxi.values[first.state], page)


def test_on_a_phone_nothing_is_cut_off(report: Path, opened: Any, taxi: Run) -> None:
    page = opened(f"{report.as_uri()}#state={LABELS.index(START)}&instead=2", viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = page.evaluate(
        "[...document.querySelectorAll('section, article, figure, table, #board svg')].map(e => e.getBoundingClientRect().right - innerWidth)"
    )
    assert max(boxes) <= 0.5
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)


def test_in_the_dark(report: Path, opened: Any, taxi: Run) -> None:
    page = opened(f"{report.as_uri()}#state={LABELS.index(START)}", color_scheme="dark")
    assert (
        sum(
            json.loads(
                page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
                .replace("rgb(", "[")
                .replace(")", "]")
            )
        )
        < 120
    )
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)
    page.emulate_media(color_scheme="light")
    until(page, "getComputedStyle(document.documentElement).backgroundColor === 'rgb(255, 255, 255)'")
    settled(page)
    assert lead(page, "intention") == taxi.intention(START).sentences()[0]


def test_words_are_understood(site: str, opened: Any, taxi: Run) -> None:
    page = opened(site)
    page.locator("#state").fill(START.upper())
    page.get_by_role("button", name="ask", exact=True).click()
    settled(page)
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)
    page = opened(f"{site}#state={START}&action=SOUTH&instead=west")
    assert lead(page, "contrast") == taxi.contrast(START, "south", "west").sentences()[0]
    assert page.locator("input[name=instead]:checked").get_attribute("value") == "3"


@pytest.mark.parametrize("link", ["action=fly", "action=99", "instead=fly"])
def test_a_wrong_part_of_a_link_is_reported_and_the_rest_is_followed(
    site: str, opened: Any, taxi: Run, link: str
) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}&{link}")
    assert page.locator("#problem").inner_text().startswith("there is no action")
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)
    assert lead(page, "intention") == taxi.intention(START).sentences()[0]


def test_going_back_asks_the_last_question_again(live: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{live}#state={LABELS.index(START)}&episode=greedy:{LABELS.index(START)}")
    second = taxi.episode(START)[1][0]
    row, column, *_ = LABELS.values(second)
    page.locator(f"#board [data-row='{row}'][data-column='{column}']").click()
    settled(page)
    page.locator("#scrubber").fill("4")
    settled(page)
    assert values(page) == as_text(taxi.values[taxi.episode(START)[4][0]], page)
    page.go_back()
    until(page, f"location.hash.includes('state={LABELS.index(START)}&')")
    settled(page)
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)


def test_each_half_of_a_cell_is_a_state(report: Path, opened: Any, taxi: Run) -> None:
    """Where the taxi is expected twice, without and with the passenger, one points at the one or the other."""
    along = [state for state, _ in taxi.episode(START)]
    places = [LABELS.values(state)[:2] for state in along]
    place = next(place for place in places if places.count(place) == 2)
    without, aboard = (state for state, where in zip(along, places, strict=True) if where == place)
    for at, state in ((0.2, without), (0.8, aboard)):
        page = opened(f"{report.as_uri()}#state={LABELS.index(START)}")
        cell = page.locator(f"#answer-intention [data-row='{place[0]}'][data-column='{place[1]}']")
        box = cell.bounding_box()
        cell.click(position={"x": at * box["width"], "y": at * box["height"]})
        settled(page)
        assert page.locator("#state").input_value() == LABELS.words(state)
        assert values(page) == as_text(taxi.values[state], page)


def test_words_can_be_read_on_a_laptop(report: Path, opened: Any, taxi: Run) -> None:
    """Every picture is drawn for the room that it has."""
    page = opened(f"{report.as_uri()}#state={LABELS.index(START)}&instead=2", viewport={"width": 1280, "height": 800})
    sizes = page.evaluate("""[...document.querySelectorAll('svg text')].map((text) => {
        const svg = text.ownerSVGElement;
        return [text.getAttribute('font-size') * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width, text.textContent];
    })""")
    assert min(sizes)[0] >= 8.0, min(sizes)
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)


def test_any_time_of_training_can_be_asked_live(live: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{live}#state={LABELS.index(START)}")
    page.locator("#any-time").fill("777")
    page.locator("#any-time").press("Enter")
    until(page, "location.hash.includes('as_of=777')")
    settled(page)
    assert lead(page, "intention") == taxi.as_of(777).intention(START).sentences()[0]
    assert "after 777 episodes" in page.locator("#when").inner_text()


def test_the_focus_stays(live: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{live}#state={LABELS.index(START)}")
    page.get_by_label("why south", exact=True).focus()
    page.keyboard.press("ArrowDown")
    settled(page)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "why north"
    assert lead(page, "intention") == taxi.intention(START, "north").sentences()[0]
    row, column, *_ = LABELS.values(taxi.episode(START)[1][0])
    page.locator(f"#board [data-row='{row}'][data-column='{column}']").press("Enter")
    settled(page)
    assert page.evaluate("[document.activeElement.dataset.row, document.activeElement.dataset.column]") == [
        str(row),
        str(column),
    ]
    page.locator(".skip").press("Enter")
    assert page.evaluate("document.activeElement.id") == "answers"
    assert page.locator("#state").input_value() == LABELS.words(taxi.episode(START)[1][0])


def test_arrow_keys_go_from_cell_to_cell(live: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{live}#state={LABELS.index(START)}")
    page.locator("#board [data-row='0'][data-column='3']").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    settled(page)
    state = taxi.labels.index("taxi at row 1, column 2; passenger at Y; destination R")
    assert page.locator("#state").input_value() == LABELS.words(state)
    assert values(page) == as_text(taxi.values[state], page)


def test_a_link_to_the_question_can_be_copied(live: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{live}#state={LABELS.index(START)}&instead=2", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#link").click()
    until(page, "document.getElementById('link').textContent === 'copied'")
    again = opened(page.evaluate("navigator.clipboard.readText()"))
    assert lead(again, "contrast") == taxi.contrast(START, instead="east").sentences()[0]


def test_a_report_names_what_it_does_not_contain(report: Path, opened: Any, taxi: Run) -> None:
    page = opened(report.as_uri())
    page.locator("#state").fill("taxi at row 4, column 4; passenger at R; destination G")
    page.get_by_role("button", name="ask", exact=True).click()
    settled(page)
    assert 'destination G" is not in this report. Write' in page.locator("#problem").inner_text()
    state, address = taxi.labels.index(page.locator("#here").inner_text()), page.url
    assert values(page) == as_text(taxi.values[state], page)  # what was asked before stays
    assert f"state={state}&" in address
    page.locator("#state").fill("taxi at row")
    page.get_by_role("button", name="ask", exact=True).click()
    settled(page)
    assert "states of this report fit" in page.locator("#problem").inner_text()
    assert page.url == address
    offered = page.locator("#states option").evaluate_all("all => all.map((one) => one.value)")
    assert {taxi.labels.index(words) for words in offered} == {state for state, _ in taxi.episode(START)}
    selectable = {
        int(at) for at in page.locator("#board [data-state]").evaluate_all("all => all.map((one) => one.dataset.state)")
    }
    assert {taxi.labels.values(at)[2:] for at in selectable} == {taxi.labels.values(state)[2:]}
    assert len(selectable) < 25  # other cells cannot be chosen
    page.goto(f"{report.as_uri()}#state={state}&episode=past:1")
    settled(page)
    assert page.locator("#problem").inner_text() == "episode 1: not in this report"
    assert page.locator("#step").inner_text().startswith("step 1 of")
    assert "rounded to 6 digits" in page.locator("#contents").inner_text()
    page.goto(f"{report.as_uri()}#state={LABELS.index(START)}&as_of=10")
    settled(page)
    assert "when it expects what" in page.locator("#not-in-report").inner_text()
    assert page.locator("#answers .missing").count() == 1  # one list, not a message for each question
    before = taxi.as_of(10)
    tries = before.tries_at(START)
    assert tries is not None
    assert values(page) == [
        text if n else "no experience" for text, n in zip(as_text(before.values_at(START), page), tries, strict=True)
    ]


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("state=0", "state 0 is not in this report"),
        ("state=nonsense", '"nonsense" is not in this report. Write a state like this: "taxi at row'),
        ("state=68&as_of=300", "the agent after 300 episodes is not in this report; choose one of 10, "),
        ("state=68&as_of=soon", 'as_of is a number of episodes, not "soon"'),
    ],
)
def test_a_report_shows_the_rest_of_a_link_that_it_cannot_follow(
    report: Path, opened: Any, taxi: Run, link: str, problem: str
) -> None:
    page = opened(f"{report.as_uri()}#{link}")
    assert page.locator("#problem").inner_text().startswith(problem)
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)
    page.get_by_role("button", name="next step").click()
    settled(page)
    assert values(page) == as_text(taxi.values[taxi.episode(START)[1][0]], page)
    assert page.locator("#problem").inner_text() == ""


def test_a_report_reads_words_however_they_are_punctuated(report: Path, opened: Any, taxi: Run) -> None:
    page = opened(report.as_uri())
    state = taxi.episode(START)[2][0]
    page.locator("#state").fill(LABELS.words(state).replace("; ", ", ").replace("taxi", "TAXI"))
    page.get_by_role("button", name="ask", exact=True).click()
    settled(page)
    assert values(page) == as_text(taxi.values[state], page)


def test_a_server_reports_what_it_does_not_understand(live: str, browser: Any, taxi: Run) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{live}#state=nowhere")
    settled(page)
    assert page.locator("#problem").inner_text().startswith("cannot parse the state 'nowhere': the row is missing")
    state = taxi.labels.index(page.locator("#state").input_value())
    assert values(page) == as_text(taxi.values[state], page)
    context.close()


def test_what_was_never_tried_looks_unknown(live: str, opened: Any, taxi: Run) -> None:
    early = taxi.as_of(1)
    state = next(s for s in range(500) if early.tries_at(s).sum() == 0)  # type: ignore[union-attr]
    page = opened(f"{live}#state={state}&as_of=1")
    assert values(page) == ["no experience"] * 6
    assert page.locator("#answer-intention .badge").inner_text() == "no experience"
    hatched = "[fill^='url(#hatch']"
    assert page.locator(f"#answer-intention {hatched}").count() == 25
    assert page.locator(f"#answer-comparison figure >> nth=0 >> {hatched}").count() == 25, "believed, not actual"
    empty = page.locator("#answer-comparison > p.small").inner_text()
    assert "visits, believed minus actual, discounted: 0 everywhere" in empty, "no board without a number"


def test_an_open_page_shows_the_rest_of_a_link_that_it_cannot_follow(live: str, browser: Any, taxi: Run) -> None:
    context = browser.new_context()
    page = context.new_page()
    other = taxi.episode(START)[3][0]
    page.goto(f"{live}#state={other}")
    settled(page)
    page.goto(f"{live}#state={LABELS.index(START)}&as_of=99999")
    until(page, "document.getElementById('problem').textContent")
    settled(page)
    assert values(page) == as_text(taxi.values[LABELS.index(START)], page)
    context.close()


def test_numbers_have_the_form_that_sentences_give_them(browser: Any) -> None:
    shares = [0.0, 1e-13, 1e-4, 0.0312, 0.0994, 0.0996, 0.678, 0.9949, 0.9996, 1.0 - 1e-7, 1.0]
    numbers = [0.0, 15.28412, -0.00123456, 20.0, 123456.7, -9999.6, 2.5, 1.2345678e-5, -3e-12, 0.00012, 9999.4]
    script = re.sub(r"^export ", "", _asset("script/dom.js"), flags=re.MULTILINE)
    page = browser.new_page()
    assert page.evaluate(f"(all) => {{ {script}; return all.map(percent); }}", shares) == [
        "0 %",
        "0 %",
        *map(percent, shares[2:]),
    ]
    assert page.evaluate(f"(all) => {{ {script}; return all.map((one) => amount(one, true)); }}", numbers) == [
        amount(number, signed=True) for number in numbers
    ]
    page.close()


def test_words_that_wrap_stay_right_of_their_numbers(report: Path, opened: Any, taxi: Run) -> None:
    page = opened(f"{report.as_uri()}#state={LABELS.index(START)}", viewport={"width": 390, "height": 844})
    rows = page.locator("#answer-timeline .numbers")
    assert rows.first.inner_text() == taxi.timeline(START).sentences()[1].rstrip()
    first, *_, last = rows.first.evaluate("""(row) => {
        const range = document.createRange();
        range.selectNodeContents(row);
        return [...range.getClientRects()].map((box) => [box.left, box.top]);
    }""")
    assert last[1] > first[1]  # it wraps
    assert last[0] > first[0] + 50


def test_it_opens_on_the_findings_which_lead_to_their_states(opened: Any, tmp_path: Path) -> None:
    """One reward makes the agent go round: the report has this finding, and all questions about its state."""
    straight = wf.train(grid(slip=0.0), GRID, episodes=300, seed=0, progress=False)
    run, _ = with_loop(straight, 0, recorded=True)
    run.report(tmp_path / "page.html", episodes=1)
    page = opened((tmp_path / "page.html").as_uri())
    found = run.findings()
    page.locator("#findings-list a").first.wait_for()
    assert page.locator("#findings-list a").all_inner_texts() == [one.sentence for one in found[:MAX_FINDINGS]]
    page.locator("#findings-list a").first.click()
    settled(page)
    assert page.locator("#here").inner_text() == run.labels.words(found[0].state)
    assert f"state={found[0].state}" in page.url
    assert lead(page, "provenance") == run.provenance(found[0].state, found[0].action).sentences()[0]
    assert page.locator("#problem").inner_text() == ""


def test_it_says_that_nothing_stands_out(opened: Any, tmp_path: Path) -> None:
    run = wf.train("FrozenLake-v1", episodes=1, seed=0, progress=False)
    run.report(tmp_path / "page.html", episodes=1)
    page = opened((tmp_path / "page.html").as_uri())
    page.locator("#findings-notes").wait_for()
    assert page.locator("#findings-notes").inner_text() == run.findings().nothing
