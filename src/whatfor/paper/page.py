"""The page that shows each figure beside the paper's claims, with their rates over many agents."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from whatfor.files import replacing
from whatfor.paper.evidence import STATUSES, ClaimResult, counts
from whatfor.paper.figure import Figure
from whatfor.text import count, percent

STYLE = """
:root { color-scheme: light dark; --line: #8885; --soft: #8882; --good: #1a7f5a; --bad: #c2410c; --open: #7a5c00; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc38a; --bad: #ff9f6b; --open: #e2c044; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 3rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.claim { border-left: 4px solid var(--line); padding-left: 1rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
figure { margin: 0; flex: 1 1 24rem; max-width: 100%; } figure img { max-width: 100%; background: white; border-radius: 4px; }
figure.wide { flex-basis: 100%; }
figcaption, .note { font-size: .9rem; opacity: .85; }
.counts { display: flex; flex-wrap: wrap; gap: 2rem; margin: 1.5rem 0; padding: 0; list-style: none; } .counts b { font-size: 2rem; display: block; line-height: 1.1; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
.reproduced { color: var(--good); font-weight: 600; } .not { color: var(--bad); font-weight: 600; } .unclear { color: var(--open); font-weight: 600; }
ul.verdicts { padding-left: 1.2rem; } summary { cursor: pointer; }
pre { overflow-x: auto; background: var(--soft); padding: .8rem; border-radius: 4px; font-size: .82rem; }
"""


def write_page(figures: list[Figure], results: Sequence[ClaimResult], folder: Path, *, deep: bool = False) -> Path:
    """Write ``index.html`` atomically."""
    number = counts(results)
    body = [
        f"<h1>What did you think would happen? The paper's {'deep' if deep else 'tabular'} figures, reproduced</h1>",
        "<p>Yau, Russell and Hadfield, <em>What Did You Think Would Happen? Explaining Agent Behaviour through Intended "
        "Outcomes</em>, NeurIPS 2020. Every agent was trained, every picture drawn and every number measured by "
        f"<code>whatfor paper{' --deep' if deep else ''}</code>.</p>",
        "<ul class='counts'>" + "".join(f"<li class='{_css(status)}'><b>{number[status]}</b>{status}</li>" for status in STATUSES)
        + f"<li><b>{len(results)}</b>claims in all</li></ul>",
        f"<p>{_rule(results, deep)}</p>",
        _folded("All claims", _table(results, links=True)),
        *(_section(figure, [one for one in results if one.claim.figure == figure.id]) for figure in figures),
    ]  # fmt: skip
    page = folder / "index.html"
    with replacing(page) as fresh:
        fresh.write_text(_document("".join(body)), encoding="utf-8")
    return page


def _rule(results: Sequence[ClaimResult], deep: bool) -> str:
    """How the status of a claim is decided."""
    seeds = max((one.rate.seeds for one in results), default=0)
    level = percent(results[0].level) if results else ""
    few = (
        f" Deep agents take long to train: with only {count(seeds, 'seed')}, these intervals are {level} ones, and the evidence is weak."
        if deep
        else ""
    )
    return (
        f"Each claim is a yes-or-no question to an agent, asked of {count(seeds, 'agent')} with different seeds. It is <em>reproduced</em> if the {level} interval (Wilson's) of the "
        "rate lies above a threshold stated with it, <em>not reproduced</em> if it lies below, and <em>unclear</em> otherwise: 50 % for a claim about typical agents, 80 % for "
        "one about all agents. The same question is asked of untrained agents and of agents with a wrong mechanism; a check that more than one in twenty of those passes says nothing, and its claim counts as unclear. "
        f"Pictures show seed 0 unless they say otherwise.{few}"
    )


def _section(figure: Figure, results: Sequence[ClaimResult]) -> str:
    pictures = "".join(
        f"<figure{' class=wide' if picture.wide else ''}><img src='{escape(picture.file)}' alt='{escape(picture.caption or figure.title)}' loading='lazy'>"
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        for picture in figure.pictures
    )
    verdicts = "".join(
        f"<li><span class='{_css(one.status)}'>{one.status}</span> ({one.rate}): {escape(one.claim.says)}</li>" for one in results
    )  # fmt: skip
    answers = "".join(f"<pre>{escape(answer)}</pre>" for answer in figure.answers)
    note = f"<p class='note'>{escape(figure.note)}</p>" if figure.note else ""
    title = "" if figure.id[0] == "T" else f"Figure {figure.id}: "
    return (
        f"<h2 id='{figure.id}'>{title}{escape(figure.title)}</h2>"
        f"<p class='claim'>The paper: {escape(figure.claim)}</p><div class='pictures'>{pictures}</div>"
        + (f"<ul class='verdicts'>{verdicts}</ul>" if verdicts else "")
        + note
        + (_folded("The measurements", _table(results)) if results else "")
        + (_folded("The explanations as text", answers) if answers else "")
    )


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>"


def _table(results: Sequence[ClaimResult], links: bool = False) -> str:
    heads = (
        "claim",
        "an agent counts if",
        "agents",
        "interval",
        "threshold",
        "measured",
        "untrained",
        "wrong mechanism",
        "",
    )
    lines = []
    for one in results:
        low, high = one.rate.interval
        untrained, wrong = one.controls
        link = f"<td><a href='#{one.claim.figure}'>{one.claim.figure}</a></td>" if links else ""
        cells = (
            one.claim.says, one.claim.test, str(one.rate), f"{percent(low)} to {percent(high)}", percent(one.claim.at_least),
            f"{one.claim.number}: {one.median}", str(untrained), f"{wrong}: {one.claim.wrong}",
        )  # fmt: skip
        row = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        lines.append(f"<tr>{link}{row}<td class='{_css(one.status)}'>{one.status}</td></tr>")
    head = "".join(f"<th>{name}</th>" for name in (("", *heads) if links else heads))
    return f"<div class='scroll'><table><tr>{head}</tr>{''.join(lines)}</table></div>"


def _css(status: str) -> str:
    return status.partition(" ")[0]


def _document(body: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>The paper's figures, reproduced</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )
