"""The page of a report, put together: the first screen, then what stands behind it, each thing once.

How the goal was read, caveats, the method with the notebook and its code folded away, checks, what was done.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.notebook.syntax_trees import walk_syntax
from cellwright.runs.deliver.cell_content import read_cell
from cellwright.runs.deliver.delivery import Comparison, Delivery
from cellwright.runs.deliver.first_screen import rest_of_answer
from cellwright.runs.deliver.report.opening import (
    SKIP,
    PlacedImages,
    cut_goal,
    ending_html,
    failing_html,
    opening_html,
    place_images,
    why_alone,
)
from cellwright.runs.deliver.report.outputs import Charts, output_html
from cellwright.runs.deliver.report.prose import article, line, listed, prose
from cellwright.runs.deliver.report.sanitizer import escaped
from cellwright.runs.deliver.report.text import MARK, SAYS, account

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MOST_CHARACTERS: Final = 40_000_000
_TASK_MARKS: Final = {"done": "✓", "failed": "✗", "dropped": "–", "planned": "○", "running": "○"}


def page_html(
    delivery: Delivery,
    document: Document | None,
    outcomes: Mapping[CellId, CellOutcome],
    charts: Mapping[str, str],
    parts: Sequence[tuple[str, str]] = (),
) -> str:
    """The whole report as one page. Everything in it is escaped or cleaned."""
    title = delivery.title or delivery.goal.strip().partition("\n")[0][:150] or "Report"
    drawn = Charts(charts)
    images = place_images(delivery, document, outcomes, drawn)
    notebook = "\n".join(_notebook(document, outcomes, drawn, images)) if document is not None else ""
    first = _first(replace(delivery, answer="") if parts else delivery, title, images)
    body = "\n".join(part for part in (*first, *_article(parts), *_sections(delivery, notebook, parts)) if part)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="{MARK}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(delivery.headline or title)}</title>
<style>{_style()}</style>
</head>
<body>
<main>
{body}
</main>
<footer>{_footer(delivery)}</footer>
</body>
</html>
"""


@cache
def _style() -> str:
    return (files("cellwright.runs.deliver.report") / "style.css").read_text(encoding="utf-8")


def _first(delivery: Delivery, title: str, images: PlacedImages) -> Iterator[str]:
    """What everybody sees: the first screen, or the answer as it is where no headline was told."""
    rest = rest_of_answer(delivery)
    answer = f'<section class="answer" aria-label="Answer">{prose(rest)}</section>' if rest else ""
    if delivery.headline:
        if delivery.findings:
            yield f'<a class="skip" href="#findings">{SKIP}</a>'
        yield opening_html(delivery, images)
        yield answer
        return
    yield failing_html(delivery)
    goal = f'<p class="meta">{escaped(delivery.goal)}</p>' if delivery.goal != title else ""
    badge = f'<span class="badge {delivery.status}">{SAYS[delivery.status]}</span>'
    yield f"<header>{badge}<h1>{escaped(title)}</h1>{goal}</header>"
    yield answer
    yield ending_html(delivery)


def _article(parts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The body: what begins it, then each part under its title."""
    for number, (title, text) in enumerate(parts):
        if number:
            yield _section(line(title), article(text), id=f"part-{number}")
        else:
            yield f'<section class="answer" aria-label="Answer">{article(text)}</section>'


def _sections(delivery: Delivery, notebook: str, parts: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield _readings(delivery)
    # What ended it is told once. A body of its own has them among its parts.
    caveats = [caveat for caveat in delivery.caveats if caveat not in why_alone(delivery)]
    yield "" if parts else _listed("Data quality and caveats", caveats, id="quality")
    yield _method(delivery, notebook)
    yield _checks(delivery)
    yield from (_compared(comparison) for comparison in delivery.comparisons)
    yield _tasks(delivery)


def _readings(delivery: Delivery) -> str:
    """How the goal's words were read, after the words themselves where they stand nowhere whole."""
    goal = " ".join(delivery.goal.split())
    is_whole = not delivery.headline or goal in {delivery.headline, cut_goal(delivery)}
    asked = "" if is_whole else f'<p class="meta">{escaped(delivery.goal)}</p>'
    readings = [f"<li>{line(text)}</li>" for text in dict.fromkeys((*delivery.readings, *delivery.assumptions))]
    if not asked and not readings:
        return ""
    return _section("How the question was read", asked + (listed(readings) if readings else ""), id="readings")


def _method(delivery: Delivery, notebook: str) -> str:
    summary, answer = delivery.summary.strip(), delivery.answer.strip()
    words = prose(summary) if summary and summary != answer else ""
    return _section("Method", words + notebook, id="method") if words or notebook else ""


def _section(title: str, html: str, *, id: str = "") -> str:
    named = f' id="{id}"' if id else ""
    return f"<section{named}><h2>{title}</h2>{html}</section>"


def _listed(title: str, texts: Sequence[str], *, id: str) -> str:
    return _section(title, listed([f"<li>{line(text)}</li>" for text in texts]), id=id) if texts else ""


def _checks(delivery: Delivery) -> str:
    rows: list[str] = []
    # Those that did not hold come first: what is folded away is what held.
    for check in sorted(delivery.checks, key=lambda check: check.has_passed):
        sign, word = ("✓", "passed") if check.has_passed else ("✗", "missed")
        if check.is_hollow:
            sign, word = "!", "hollow"
        name = f' <code title="the test in the notebook">{escaped(check.name)}</code>' if check.name else ""
        rows.append(_marked(word, f"{sign} {word}", f"{line(check.says)}{name}", check.detail))
    return _section("Checks", listed(rows, kind="checks"), id="checks") if rows else ""


def _marked(kind: str, mark: str, html: str, detail: str) -> str:
    below = f'<div class="detail">{line(detail)}</div>' if detail else ""
    return f'<li><span class="mark {kind}">{mark}</span>{html}{below}</li>'


def _compared(comparison: Comparison) -> str:
    """Alternatives side by side, best first."""
    rows: list[str] = []
    for way in comparison.ways:
        name = f"<strong>{line(way.name)}</strong> (kept)" if way.is_kept else line(way.name)
        took = f"{way.ms:.0f} ms" if way.way else ""
        cells = (name, escaped(way.status), escaped(way.checks), line(way.shows), took)
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f"<th>{title}</th>" for title in ("alternative", "status", "checks", "shows", "time"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<section><h2>Compared for {line(comparison.task)}</h2>{table}</section>"


def _tasks(delivery: Delivery) -> str:
    rows: list[str] = []
    for task in delivery.tasks:
        kind = task.status if task.status in {"done", "failed"} else "other"
        note = "" if task.note.strip() in {delivery.answer.strip(), delivery.summary.strip()} else task.note
        rows.append(_marked(kind, f"{_TASK_MARKS[task.status]} {task.status}", line(task.title), note))
    return _section("What was done", listed(rows, kind="tasks")) if rows else ""


def _footer(delivery: Delivery) -> str:
    parts = [f"{name} {value}" for name, value in account(delivery)]
    # Only names: a path would tell strangers about somebody's machine.
    if delivery.notebook:
        parts.append(f"notebook {Path(delivery.notebook).name}")
    if delivery.proof:
        parts.append(f"proof {Path(delivery.proof).name}")
    return escaped(" · ".join(["Made with Cellwright", *parts]))


# ── the notebook in it ──


def _notebook(
    document: Document, outcomes: Mapping[CellId, CellOutcome], charts: Charts, images: PlacedImages
) -> Iterator[str]:
    yield f'<details class="notebook"><summary>The notebook: {len(document.cells):,} cells, code folded</summary>'
    left = _MOST_CHARACTERS
    for cell in document.cells:
        html = images.without(cell.id, _cell(cell, outcomes.get(cell.id), charts))
        if len(html) > left:
            html = '<p class="note">This page is full: open the notebook to see this output.</p>'
        left -= len(html)
        if html:
            yield f'<article class="cell">{html}</article>'
    yield "</details>"


def _cell(cell: Cell, outcome: CellOutcome | None, charts: Charts) -> str:
    reading = read_cell(cell)
    output = output_html(outcome, charts)
    if reading.is_markdown:
        return output if outcome is not None else prose(_markdown_source(cell.code))
    if not cell.code.strip():
        return output
    name = "code" if cell.name == DEFAULT_NAME else f"code of {escaped(cell.name)}"
    return (
        f'{output}<details class="code"><summary>{name}</summary><pre><code>{escaped(cell.code)}</code></pre></details>'
    )


def _markdown_source(code: str) -> str:
    """The text of a markdown cell that did not run: as it was written, holes and all."""
    nodes = walk_syntax(code)
    return "".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
