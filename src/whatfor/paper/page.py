"""The page that shows each figure beside the paper's claims."""

from __future__ import annotations

from html import escape
from pathlib import Path

from whatfor.files import replacing
from whatfor.paper.figure import Check, Figure

STYLE = """
:root { color-scheme: light dark; --line: #8885; --soft: #8882; --good: #1a7f5a; --bad: #c2410c; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc38a; --bad: #ff9f6b; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 3rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.claim { border-left: 4px solid var(--line); padding-left: 1rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
figure { margin: 0; flex: 1 1 24rem; max-width: 100%; } figure img { max-width: 100%; background: white; border-radius: 4px; }
figure.wide { flex-basis: 100%; }
figcaption, .note { font-size: .9rem; opacity: .85; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
.met { color: var(--good); font-weight: 600; } .missed { color: var(--bad); font-weight: 600; }
pre { overflow-x: auto; background: var(--soft); padding: .8rem; border-radius: 4px; font-size: .82rem; }
"""


def write_page(figures: list[Figure], folder: Path, *, deep: bool = False) -> Path:
    """Write ``index.html`` atomically."""
    checks = [(figure, check) for figure in figures for check in figure.checks]
    met = sum(check.met for _, check in checks)
    body = [
        f"<h1>What did you think would happen? The paper's {'deep' if deep else 'tabular'} figures, reproduced</h1>",
        "<p>Yau, Russell and Hadfield, <em>What Did You Think Would Happen? Explaining Agent Behaviour through Intended "
        "Outcomes</em>, NeurIPS 2020. Every agent was trained, every picture drawn and every number checked by "
        f"<code>whatfor paper{' --deep' if deep else ''}</code>.</p>",
        f"<p><strong>{met} of {len(checks)}</strong> checks of the paper's claims are met.</p>",
        _table([(f"<a href='#{figure.id}'>{figure.id}</a>", check) for figure, check in checks]),
        *(_section(figure) for figure in figures),
    ]
    page = folder / "index.html"
    with replacing(page) as fresh:
        fresh.write_text(_document("".join(body)), encoding="utf-8")
    return page


def _section(figure: Figure) -> str:
    pictures = "".join(
        f"<figure{' class=wide' if picture.wide else ''}><img src='{escape(picture.file)}' alt='{escape(picture.caption or figure.title)}' loading='lazy'>"
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        for picture in figure.pictures
    )
    answers = "".join(f"<pre>{escape(answer)}</pre>" for answer in figure.answers)
    note = f"<p class='note'>{escape(figure.note)}</p>" if figure.note else ""
    details = f"<details><summary>The explanations as text</summary>{answers}</details>" if answers else ""
    return (
        f"<h2 id='{figure.id}'>Figure {figure.id}: {escape(figure.title)}</h2>"
        f"<p class='claim'>The paper: {escape(figure.claim)}</p><div class='pictures'>{pictures}</div>{note}"
        f"{_table([('', check) for check in figure.checks])}{details}"
    )


def _table(rows: list[tuple[str, Check]]) -> str:
    lines = "".join(
        f"<tr><td>{link}</td><td>{escape(check.what)}</td><td>{escape(check.paper)}</td><td>{escape(check.ours)}</td>"
        f"<td class='{'met' if check.met else 'missed'}'>{'met' if check.met else 'not met'}</td></tr>"
        for link, check in rows
    )
    return f"<table><tr><th></th><th>check</th><th>paper</th><th>here</th><th></th></tr>{lines}</table>"


def _document(body: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>The paper's figures, reproduced</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )
