"""What a cell shows, as HTML that stands still: text, tables, pictures, charts; from data nobody vouches for.

Charts are found in what cells show, drawn together in a cage by whoever can, and shown as still pictures.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from cellwright.kernel import CellFault, CellOutcome, CellOutput
from cellwright.runs.deliver.report.sanitizer import clean, escaped, picture

_WIDTH: Final = 640
"""Of a chart that would be as wide as the page it is on."""
_HELD: Final = frozenset({"values", "datasets"})
"""Where rows of data are: what is called like a part of a specification there is none."""
_LONGEST_WORDS: Final = 480


@dataclass(slots=True)
class Charts:
    """The charts of one page. Its cells are gone through twice: to find them, and to show what was drawn meanwhile."""

    drawn: Mapping[str, str] = field(default_factory=dict[str, str])
    """SVG by specification."""
    found: dict[str, None] = field(default_factory=dict[str, None])
    """The specifications that can be drawn, in order."""

    def html(self, spec: object) -> str | None:
        """The chart as an image, in which nothing runs and from which nothing is fetched; None if it was not drawn."""
        if not isinstance(spec, dict):
            return None
        spec = cast("dict[str, Any]", spec)
        text = _text(spec)
        if text is None:
            return None
        self.found[text] = None
        svg = self.drawn.get(text)
        if svg is None:
            return None
        source = base64.b64encode(svg.encode("utf-8", "replace")).decode()
        return f'<img src="data:image/svg+xml;base64,{source}" alt="{escaped(_words(spec))}" class="chart">'


def _text(spec: dict[str, Any]) -> str | None:
    """The specification as it is drawn; None if it does not hold its own data: it would be drawn empty."""
    fitted = {**spec, "width": _WIDTH} if spec.get("width") == "container" else dict(spec)
    if fitted.get("height") == "container":
        del fitted["height"]
    for part in _parts(fitted):
        # A picture has no links.
        part.pop("href", None)
        if not str(part.get("url", "data:")).startswith("data:"):
            return None
    try:
        return json.dumps(fitted, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None


def _parts(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object in it, in order, but for the rows of its data."""
    left: list[Any] = [spec]
    while left:
        match left.pop():
            case dict() as part:
                yield part
                left += [held for name, held in reversed(part.items()) if name not in _HELD]
            case list() as parts:
                left += reversed(parts)
            case _:
                pass


# ── for those who cannot see it ──


def _words(spec: dict[str, Any]) -> str:
    """Title, marks and axes in one sentence."""
    parts = list(_parts(spec))
    given = [part["mark"] for part in parts if "mark" in part]
    marks = dict.fromkeys(str(mark.get("type", "") if isinstance(mark, dict) else mark) for mark in given)
    shown = [f"chart ({', '.join(mark for mark in marks if mark)})" if any(marks) else "chart"]
    channels = [part["encoding"] for part in parts if isinstance(part.get("encoding"), dict)]
    for name, said in (("x", "across"), ("y", "up"), ("color", "colours")):
        titles = (_named(channel.get(name)) for channel in channels)
        shown += [f"{said}: {title}" for title in titles if title][:1]
    described = ", ".join(shown)
    # Altair leaves the title of layers with the first of them.
    titles = (" ".join(_lines(part.get("title"))) for part in parts if part is spec or "mark" in part)
    title = next(filter(None, titles), "")
    return f"{title} ({described})"[:_LONGEST_WORDS] if title else described[:_LONGEST_WORDS]


def _named(channel: object) -> str:
    """The title of an axis, or the field on it."""
    if not isinstance(channel, dict):
        return ""
    channel = cast("dict[str, Any]", channel)
    title = " ".join(_lines(channel.get("title")))
    return title or " of ".join(str(channel[part]) for part in ("aggregate", "field") if channel.get(part))


def _lines(title: object) -> list[str]:
    match title:
        case str():
            return title.split()
        case list():
            return [str(line) for line in title]
        case dict():
            return [*_lines(title.get("text")), *_lines(title.get("subtitle"))]
        case _:
            return []


_LONGEST_TEXT: Final = 20_000
_MOST_ROWS: Final = 100
_MOST_COLUMNS: Final = 40
_LONGEST_CELL: Final = 300
_DEEPEST: Final = 4
_PARSED: Final = 8 << 20
_BUNDLE: Final = "application/vnd.marimo+mimebundle"
_FORMS: Final = ("image/png", "image/svg+xml", "image/jpeg", "image/gif", "text/html", "text/markdown", "text/plain")
_TEX: Final = re.compile(r"\|\|[(\[](.*?)\|\|[)\]]", re.DOTALL)
_LEFT_OUT: Final = frozenset({"marimo-sidebar", "marimo-routes", "marimo-lazy", "marimo-download", "marimo-button"})
_OPEN: Final = frozenset({
    "marimo-ui-element", "marimo-accordion", "marimo-tabs", "marimo-carousel", "marimo-nav-menu", "marimo-tex",
    "marimo-dict", "marimo-array", "marimo-batch", "marimo-form",
})  # fmt: skip
"""Elements whose content is what a reader wants to see."""
_CHART_NOTE: Final = "Interactive chart: open the notebook to see it."


def output_html(outcome: CellOutcome | None, charts: Charts | None = None) -> str:
    """What the cell shows, made harmless; empty if it shows nothing."""
    if outcome is None:
        return ""
    parts = [f'<div class="console">{_preformatted(outcome.console)}</div>'] if outcome.console.strip() else []
    if outcome.error is not None:
        parts.append(_fault(outcome.error))
    elif outcome.output is not None:
        pictures = [variable.picture for variable in outcome.variables if variable.picture]
        parts.append(_shown(outcome.output, pictures[0] if len(pictures) == 1 else b"", charts or Charts()))
    return "".join(parts)


def _shown(output: CellOutput, kernels_picture: bytes, charts: Charts) -> str:
    if not output.data:
        note = '<p class="note">Too large for this page; in short:</p>' if output.is_cut else ""
        return note + _preformatted(output.text) if output.text else ""
    html = _of_type(output.mimetype, output.data, charts, 0)
    if html is None and kernels_picture:
        html = f'<img src="data:image/png;base64,{base64.b64encode(kernels_picture).decode()}" alt="chart">'
    if html is None:
        is_chart = "vega" in output.mimetype or "plotly" in output.mimetype
        note = _CHART_NOTE if is_chart else "Open the notebook to see it."
        html = f'<p class="note">{note}</p>' + _preformatted(output.text)
    return html


def _of_type(mimetype: str, data: str, charts: Charts, depth: int) -> str | None:
    """Data of this type as HTML, within so many outputs; None where it cannot stand still on a page."""
    if depth > _DEEPEST:
        return ""
    if mimetype == _BUNDLE:
        return _bundle(data, charts, depth)
    if mimetype in {"text/html", "text/markdown"}:
        return clean_output(data, charts, depth)
    if mimetype.startswith("image/"):
        return _image(mimetype, data)
    if "vega" in mimetype:
        return charts.html(_parsed(data))
    if mimetype in {"application/json", "application/vnd.marimo+json"}:
        return _json(_parsed(data))
    if mimetype.startswith("text/"):
        return _preformatted(data)
    return None


def clean_output(markup: str, charts: Charts | None = None, depth: int = 0) -> str:
    """A notebook's HTML made harmless; marimo's own elements become what they show."""
    text = _TEX.sub(lambda found: f"<code>{escaped(found[1])}</code>", markup) if "||" in markup else markup
    found = charts or Charts()
    return clean(text, replace=lambda tag, attributes: _element(tag, attributes, found, depth))


def _fault(error: CellFault) -> str:
    where = f" in line {error.line}" if error.line else ""
    words = f"<strong>{escaped(error.type)}</strong>{where}: {escaped(_clipped(error.message, 2_000))}"
    trace = (
        f"<details><summary>traceback</summary>{_preformatted(error.traceback)}</details>" if error.traceback else ""
    )
    return f'<div class="fault"><p>{words}</p>{trace}</div>'


def _preformatted(text: str) -> str:
    return f"<pre>{escaped(_clipped(text, _LONGEST_TEXT))}</pre>" if text.strip() else ""


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"


def _parsed(data: str) -> Any:
    if len(data) > _PARSED:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> str:
    try:
        return _preformatted(json.dumps(value, ensure_ascii=False, indent=2)) if value is not None else ""
    except (ValueError, RecursionError):
        return ""


def _image(mimetype: str, data: str) -> str | None:
    if mimetype == "image/svg+xml" and data.lstrip().startswith("<"):
        data = f"data:image/svg+xml;base64,{base64.b64encode(data.encode('utf-8', 'replace')).decode()}"
    elif not data.startswith("data:"):
        data = f"data:{mimetype};base64,{data}"
    source = picture(data)
    return f'<img src="{source}" alt="">' if source else None


def _bundle(data: str, charts: Charts, depth: int) -> str | None:
    """One value in several forms: the one that stands still best."""
    forms = _parsed(data)
    if not isinstance(forms, dict):
        return None
    for wanted in _FORMS:
        held = forms.get(wanted)
        if isinstance(held, str) and (html := _of_type(wanted, held, charts, depth + 1)):
            return html
    for form, held in forms.items():
        if "vega" in str(form):
            return charts.html(_parsed(held) if isinstance(held, str) else held)
    return None


# ── marimo's elements ──


def _element(tag: str, attributes: Mapping[str, str], charts: Charts, depth: int) -> str | None:
    """What an element of marimo shows; it keeps that in attributes, as JSON. None: look inside."""
    if tag in _LEFT_OUT or depth >= _DEEPEST:
        return ""
    if tag in _OPEN or not tag.startswith("marimo-"):
        return None
    match tag:
        case "marimo-table":
            return _table(attributes)
        case "marimo-callout-output":
            return f'<div class="callout">{_nested(attributes.get("data-html"), charts, depth)}</div>'
        case "marimo-mime-renderer":
            return _rendered(attributes, charts, depth)
        case "marimo-stat":
            return _stat(attributes, charts, depth)
        case "marimo-json-output":
            return _json(_parsed(attributes.get("data-json-data", "")))
        case "marimo-mermaid":
            return _preformatted(str(_parsed(attributes.get("data-diagram", "")) or ""))
        case "marimo-vega":
            return charts.html(_parsed(attributes.get("data-spec", ""))) or f'<p class="note">{_CHART_NOTE}</p>'
        case "marimo-plotly":
            return f'<p class="note">{_CHART_NOTE}</p>'
        case _:
            return _control(tag.removeprefix("marimo-"), attributes, charts, depth)


def _nested(held: str | None, charts: Charts, depth: int) -> str:
    value = _parsed(held or "")
    if isinstance(value, str):
        return clean_output(value, charts, depth + 1)
    return escaped(str(value)) if value is not None else ""


def _rendered(attributes: Mapping[str, str], charts: Charts, depth: int) -> str:
    mimetype, data = _parsed(attributes.get("data-mime", "")), _parsed(attributes.get("data-data", ""))
    if not isinstance(mimetype, str):
        return ""
    text = data if isinstance(data, str) else json.dumps(data)
    return _of_type(mimetype, text, charts, depth + 1) or f'<p class="note">{_CHART_NOTE}</p>'


def _stat(attributes: Mapping[str, str], charts: Charts, depth: int) -> str:
    label, value, caption = (
        _nested(attributes.get(f"data-{name}"), charts, depth) for name in ("label", "value", "caption")
    )
    small = f"<small>{caption}</small>" if caption else ""
    return f'<div class="stat"><span>{label}</span><strong>{value}</strong>{small}</div>'


def _control(name: str, attributes: Mapping[str, str], charts: Charts, depth: int) -> str:
    """An input, with the value it had."""
    label = _nested(attributes.get("data-label"), charts, depth)
    value = attributes.get("data-initial-value", "")
    shown = f" = {escaped(_clipped(value, 100))}" if value not in {"", "null", "{}", "[]", '""'} else ""
    return f'<span class="control">{label or escaped(name[:40])}{shown}</span>'


def _table(attributes: Mapping[str, str]) -> str:
    held = _parsed(attributes.get("data-data", ""))
    rows = _parsed(held) if isinstance(held, str) else held
    total = attributes.get("data-total-rows", "")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows[:_MOST_ROWS]):
        return f'<p class="note">Table of {escaped(total[:20]) or "some"} rows: open the notebook to see it.</p>'
    return table_html(rows, int(total) if total.isdecimal() and len(total) < 19 else len(rows))


def table_html(rows: Sequence[Mapping[str, Any]], total: int) -> str:
    """Rows as a table, with a note about what is not shown."""
    shown = rows[:_MOST_ROWS]
    columns = [name for name in dict.fromkeys(name for row in shown for name in row) if name != "_marimo_row_id"]
    wide = columns[_MOST_COLUMNS:]
    columns = columns[:_MOST_COLUMNS]
    head = "".join(f"<th>{escaped(_clipped(str(name), 80))}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(_cell(row.get(name)) for name in columns)}</tr>" for row in shown)
    notes = [f"{len(shown):,} of {total:,} rows"] if total > len(shown) else []
    notes += [f"{len(columns)} of {len(columns) + len(wide)} columns"] if wide else []
    note = f'<p class="note">{", ".join(notes)}</p>' if notes else ""
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}'


def _cell(value: Any) -> str:
    match value:
        case None:
            return "<td></td>"
        case bool() | str():
            return f"<td>{escaped(_clipped(str(value), _LONGEST_CELL))}</td>"
        case float():
            return f'<td class="number">{value:,.6g}</td>'
        case int():
            return f'<td class="number">{str(value)[:60]}</td>'
        case _:
            return f"<td>{escaped(_clipped(json.dumps(value, ensure_ascii=False, default=str), _LONGEST_CELL))}</td>"
