"""The page of a report, put together: head, answer, lists, checks, and the notebook with its code folded away.

Words of a model are CommonMark with tables, in which HTML means nothing and pictures are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.notebook.syntax_trees import walk_syntax
from cellwright.runs.deliver.cell_content import read_cell
from cellwright.runs.deliver.delivery import Comparison, Delivery
from cellwright.runs.deliver.report.outputs import Charts, output_html
from cellwright.runs.deliver.report.sanitizer import clean, escaped, text_of
from cellwright.runs.deliver.report.text import MARK, SAYS, account

_LONGEST: Final = 100_000
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table").disable("image")


def prose(text: str) -> str:
    """The text as paragraphs, lists, tables and code; its own headings come below the page's."""
    return clean(_MARKDOWN.render(text_of(text)[:_LONGEST]))


def line(text: str) -> str:
    """One line of it, with emphasis and code but without blocks."""
    return escaped(text) if "\n" in text.strip() else clean(_MARKDOWN.renderInline(text_of(text)[:_LONGEST]))


_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MOST_CHARACTERS: Final = 40_000_000
_TASK_MARKS: Final = {"done": "✓", "failed": "✗", "dropped": "–", "planned": "○", "running": "○"}


def page_html(
    delivery: Delivery, document: Document | None, outcomes: Mapping[CellId, CellOutcome], charts: Mapping[str, str]
) -> str:
    """The whole report as one page. Everything in it is escaped or cleaned."""
    title = delivery.title or delivery.goal.strip().partition("\n")[0][:150] or "Report"
    body = "\n".join(part for part in (*_head(delivery, title), *_sections(delivery)) if part)
    cells = "\n".join(_notebook(document, outcomes, Charts(charts))) if document is not None else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="{MARK}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(title)}</title>
<style>{_style()}</style>
</head>
<body>
{body}
{cells}
</main>
<footer>{_footer(delivery)}</footer>
</body>
</html>
"""


@cache
def _style() -> str:
    return (files("cellwright.runs.deliver.report") / "style.css").read_text(encoding="utf-8")


def _head(delivery: Delivery, title: str) -> Iterator[str]:
    yield (
        f'<header><span class="badge {delivery.status}">{SAYS[delivery.status]}</span>'
        f"<h1>{escaped(title)}</h1>"
        f'<p class="meta">{escaped(delivery.goal) if delivery.goal != title else ""}</p></header>\n<main>'
    )
    if delivery.answer.strip():
        yield f'<section class="answer" aria-label="Answer">{prose(delivery.answer)}</section>'


def _sections(delivery: Delivery) -> Iterator[str]:
    if delivery.why:
        yield _section("Why it ended", prose(delivery.why))
    if delivery.summary.strip():
        yield _section("Summary", prose(delivery.summary))
    yield _listed("Assumptions", delivery.assumptions)
    yield _listed("Caveats", delivery.caveats)
    yield _listed("Problems nobody repaired", delivery.problems)
    yield _checks(delivery)
    yield from (_compared(comparison) for comparison in delivery.comparisons)
    yield _tasks(delivery)


def _section(title: str, html: str) -> str:
    return f"<section><h2>{title}</h2>{html}</section>"


def _listed(title: str, texts: Sequence[str]) -> str:
    if not texts:
        return ""
    return _section(title, f"<ul>{''.join(f'<li>{line(text)}</li>' for text in texts)}</ul>")


def _checks(delivery: Delivery) -> str:
    rows: list[str] = []
    for check in delivery.checks:
        sign, word = ("✓", "passed") if check.has_passed else ("✗", "missed")
        name = f' <code title="the test in the notebook">{escaped(check.name)}</code>' if check.name else ""
        rows.append(_marked(word, f"{sign} {word}", f"{line(check.says)}{name}", check.detail))
    return _section("Checks", f'<ul class="checks">{"".join(rows)}</ul>') if rows else ""


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
        rows.append(_marked(kind, f"{_TASK_MARKS[task.status]} {task.status}", line(task.title), task.note))
    return _section("What was done", f'<ul class="tasks">{"".join(rows)}</ul>') if rows else ""


def _footer(delivery: Delivery) -> str:
    parts = [f"{name} {value}" for name, value in account(delivery)]
    # Only names: a path would tell strangers about somebody's machine.
    if delivery.notebook:
        parts.append(f"notebook {Path(delivery.notebook).name}")
    if delivery.proof:
        parts.append(f"proof {Path(delivery.proof).name}")
    return escaped(" · ".join(["Made with Cellwright", *parts]))


# ── the notebook in it ──


def _notebook(document: Document, outcomes: Mapping[CellId, CellOutcome], charts: Charts) -> Iterator[str]:
    yield '<section class="notebook"><h2>The notebook</h2>'
    left = _MOST_CHARACTERS
    for cell in document.cells:
        html = _cell(cell, outcomes.get(cell.id), charts)
        if len(html) > left:
            html = '<p class="note">This page is full: open the notebook to see this output.</p>'
        left -= len(html)
        if html:
            yield f'<article class="cell">{html}</article>'
    yield "</section>"


def _cell(cell: Cell, outcome: CellOutcome | None, charts: Charts) -> str:
    reading = read_cell(cell)
    output = output_html(outcome, charts)
    if reading.is_markdown:
        return output if outcome is not None else prose(_markdown_source(cell.code))
    if not cell.code.strip():
        return output
    name = "code" if cell.name == DEFAULT_NAME else f"code of {escaped(cell.name)}"
    return f"{output}<details><summary>{name}</summary><pre><code>{escaped(cell.code)}</code></pre></details>"


def _markdown_source(code: str) -> str:
    """The text of a markdown cell that did not run: as it was written, holes and all."""
    nodes = walk_syntax(code)
    return "".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
