"""Charts in the report: drawn together in a cage, shown as still pictures with words, or said to be in the notebook."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome, CellOutput, VariablePreview
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.chart_cage import ChartCage
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, apply_edits
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.deliver.report.outputs import Charts, output_html
from cellwright.runs.deliver.report.report import draw_charts, report_html
from cellwright.sandbox.host.tiers import probe

VEGA = "application/vnd.vegalite.v6+json"
NOTE = '<p class="note">Interactive chart: open the notebook to see it.</p>'
ROWS = [{"month": "Jan", "sales": 3}, {"month": "Feb", "sales": 5.5}, {"month": "Mar", "sales": -1}]
MONTH = {"field": "month", "type": "nominal"}
SALES = {"field": "sales", "type": "quantitative"}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def spec(mark: Any = "bar", **more: Any) -> dict[str, Any]:
    return {"mark": mark, "data": {"values": ROWS}, "encoding": {"x": MONTH, "y": SALES}, **more}


def outcome(mimetype: str, data: str, **more: Any) -> CellOutcome:
    output = CellOutput(mimetype=mimetype, text="chart bar x=month, y=sales", data=data)
    return CellOutcome(id=CellId("a"), name="a", status="ok", output=output, **more)


def found(of: object) -> list[dict[str, Any]]:
    """What would be drawn of it."""
    charts = Charts()
    assert charts.html(of) is None
    return [json.loads(text) for text in charts.found]


def shown(of: object) -> str | None:
    charts = Charts()
    charts.html(of)
    return Charts(dict.fromkeys(charts.found, SVG)).html(of)


# ── on the page ──


@pytest.mark.slow
async def test_charts_wherever_they_are_shown_come_as_pictures(pool: KernelPool) -> None:
    element = f"<p>here</p><marimo-vega data-spec='{json.dumps(spec('line'))}'></marimo-vega>"
    rendered = (
        f"""<marimo-mime-renderer data-mime='"{VEGA}"' data-data='{json.dumps(spec("area"))}'></marimo-mime-renderer>"""
    )
    bundle = json.dumps({VEGA: spec("point"), "text/plain": ""})
    shown = {
        VEGA: json.dumps(spec()),
        "text/html": element,
        "text/markdown": rendered,
        "application/vnd.marimo+mimebundle": bundle,
    }
    document = apply_edits(Document.new(), [CreateCell(code=f"x{number} = 1") for number in range(len(shown))])
    assert isinstance(document, Document)
    outcomes = {
        cell.id: outcome(mimetype, data) for cell, (mimetype, data) in zip(document.cells, shown.items(), strict=True)
    }
    cage = ChartCage(zygote=await pool.zygote(), tier=probe().tier)
    charts = await draw_charts(outcomes, cage.draw)
    page = report_html(Delivery(status="done", goal="g"), document, outcomes, charts=charts)
    marks = ["bar", "line", "area", "point"]
    assert [page.count(f'alt="chart ({mark}), across: month, up: sales" class="chart"') for mark in marks] == [1] * 4
    assert page.count('<img src="data:image/svg+xml;base64,') == 4 and "open the notebook" not in page


async def test_without_whom_to_draw_them_charts_are_said_to_be_in_the_notebook() -> None:
    async def no_cage(specs: Sequence[str]) -> tuple[str | None, ...]:
        raise Unavailable("No cage is to be had.")

    async def no_pictures(specs: Sequence[str]) -> tuple[str | None, ...]:
        return (None,) * len(specs)

    chart = outcome(VEGA, json.dumps(spec()))
    for draw in (no_cage, no_pictures):
        charts = await draw_charts({CellId("a"): chart}, draw)
        assert output_html(chart, Charts(charts)) == f"{NOTE}<pre>chart bar x=month, y=sales</pre>"


def test_the_picture_the_kernel_made_stands_in_for_a_chart_that_cannot_be_drawn() -> None:
    variable = VariablePreview(name="chart", kind="figure", type="Chart", text="", picture=b"\x89PNG")
    html = output_html(outcome(VEGA, json.dumps(spec()), variables=(variable,)))
    assert html == '<img src="data:image/png;base64,iVBORw==" alt="chart">'


def test_secrets_are_masked_in_pictures_too() -> None:
    document = apply_edits(Document.new(), [CreateCell(code="x = 1")])
    assert isinstance(document, Document)
    chart, text = outcome(VEGA, json.dumps(spec())), json.dumps(found(spec())[0], ensure_ascii=False)
    page = report_html(
        Delivery(status="done", goal="g"),
        document,
        {document.cells[0].id: chart},
        charts={text: "<svg><text>hunter2</text></svg>"},
        masked=lambda text: text.replace("hunter2", "****"),
    )
    assert base64.b64encode(b"<svg><text>****</text></svg>").decode() in page


# ── what is drawn ──


def test_a_chart_as_wide_as_its_page_gets_a_width_and_no_links() -> None:
    links = {"x": MONTH, "y": SALES, "href": {"field": "url"}}
    rows = [{"month": "Jan", "sales": 3, "url": "https://x.example", "href": "y"}]
    of = spec({"type": "bar", "href": "https://y.example"}, width="container", height="container", encoding=links)
    assert found({**of, "data": {"values": rows}}) == [
        {**spec({"type": "bar"}), "data": {"values": rows}, "width": 640},
    ]  # fmt: skip
    assert found(spec(width=300)) == [spec(width=300)]


@pytest.mark.parametrize(
    "of",
    [
        spec(data={"url": "https://evil/data.csv"}), spec(data={"url": "@file/123.csv"}), spec(data={"url": 3}),
        spec("image", encoding={"x": MONTH, "url": {"field": "u"}}), {"layer": [spec(data={"url": "x.csv"})]},
        spec(transform=[{"lookup": "a", "from": {"data": {"url": "/etc/passwd"}}}]), spec(height=float("nan")),
        [], None, "text", 3,
    ],
)  # fmt: skip
def test_a_chart_that_does_not_hold_its_own_data_is_not_drawn(of: object) -> None:
    """It would be drawn, with nothing in it."""
    assert found(of) == []


# ── words ──


def test_a_drawn_chart_says_what_it_shows_to_those_who_cannot_see_it() -> None:
    layers = {"title": {"text": ["Sales", "by month"], "subtitle": "in EUR"}, "layer": [spec(), spec("rule")]}
    titled_below = {"layer": [spec("point", title="Below"), spec("rule", title="Below")]}
    averages = spec(
        encoding={"x": {"aggregate": "mean", **SALES}, "y": {**MONTH, "title": ["The", "month"]}, "color": MONTH}
    )
    said = [shown(of) or "" for of in (spec(title='Sales "><script>'), layers, averages, titled_below, {"hconcat": []})]
    assert [html.partition("base64,")[2].partition(" ")[2] for html in said] == snapshot(
        [
            'alt="Sales &quot;&gt;&lt;script&gt; (chart (bar), across: month, up: sales)" class="chart">',
            'alt="Sales by month in EUR (chart (bar, rule), across: month, up: sales)" class="chart">',
            'alt="chart (bar), across: mean of sales, up: The month, colours: month" class="chart">',
            'alt="Below (chart (point, rule), across: month, up: sales)" class="chart">',
            'alt="chart" class="chart">',
        ]
    )


WORDS = ["bar", "line", "x", "month", "container", "data:", "<b>", '"><script>', "https://x"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS)
KEYS = st.sampled_from([
    "mark", "type", "data", "values", "encoding", "x", "y", "color", "field", "aggregate", "title", "layer", "text",
    "subtitle", "url", "href", "width", "height", "datasets", "name",
])  # fmt: skip
PARTS = st.dictionaries(
    KEYS, st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
)


class Images(HTMLParser):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert (tag, [name for name, _ in attrs]) == ("img", ["src", "alt", "class"])


@pytest.mark.slow
@given(PARTS)
def test_whatever_stands_in_a_specification_it_is_one_picture_or_none(of: dict[str, Any]) -> None:
    for changed in (of, {**spec(), **of}, spec(encoding={"x": of, "y": SALES}), {"layer": [spec(), of]}):
        html = shown(changed)
        assert html is None or html.count("<") == html.count(">") == 1
        Images().feed(html or "")


def test_a_deep_specification_breaks_nothing() -> None:
    deep: dict[str, Any] = {"mark": "bar"}
    for _ in range(5_000):
        deep = {"layer": [deep]}
    assert shown(deep) is None
