"""Charts in the report: drawn truthfully as still pictures, or not at all; nothing in a specification does harm."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.ids import CellId
from cellwright.kernel import CellOutcome, CellOutput, VariablePreview
from cellwright.runs.report_page.charts import drawn
from cellwright.runs.report_page.outputs import output_html

ROWS = [{"month": "Jan", "sales": 3}, {"month": "Feb", "sales": 5.5}, {"month": "Mar", "sales": -1}]
MONTH = {"field": "month", "type": "nominal"}
SALES = {"field": "sales", "type": "quantitative"}


def spec(mark: Any = "bar", **more: Any) -> dict[str, Any]:
    return {"mark": mark, "data": {"values": ROWS}, "encoding": {"x": MONTH, "y": SALES}, **more}


def chart(mark: Any, rows: list[dict[str, Any]], **encoding: Any) -> dict[str, Any]:
    return {"mark": mark, "data": {"values": rows}, "encoding": encoding}


def svg(of: Mapping[str, Any]) -> str:
    picture = drawn(of)
    assert picture is not None
    text = base64.b64decode(picture.source.partition(",")[2]).decode()
    ElementTree.fromstring(text)
    return text


def words(of: Mapping[str, Any]) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg(of))


def numbers(text: str, tag: str, *names: str) -> list[tuple[float, ...]]:
    """These attributes of every such element."""
    elements = re.findall(rf"<{tag} ([^>]*)/>", text)
    found = [tuple(re.findall(rf'(?:^| ){name}="(-?[\d.]+)"', element) for name in names) for element in elements]
    return [tuple(float(one[0]) for one in each) for each in found if all(each)]


def shown(mimetype: str, data: str, *, text: str = "") -> str:
    output = CellOutput(mimetype=mimetype, text=text, data=data)
    return output_html(CellOutcome(id=CellId("a"), name="a", status="ok", output=output))


# ── single charts ──


def test_a_plain_chart_is_drawn_with_its_words() -> None:
    assert words(spec(title="Sales <b>")) == snapshot(
        ["Sales &lt;b&gt;", "0", "2", "4", "6", "Feb", "Jan", "Mar", "month", "sales"]
    )
    assert len(numbers(svg(spec()), "rect", "x", "y")) == 3


def test_groups_are_sorted_as_the_chart_says() -> None:
    orders = {"-y": ["Feb", "Jan", "Mar"], "y": ["Mar", "Jan", "Feb"], "descending": ["Mar", "Jan", "Feb"]}
    for sort, expected in [*orders.items(), (None, ["Jan", "Feb", "Mar"]), (["Mar", "Jan"], ["Mar", "Jan", "Feb"])]:
        of = spec(encoding={"x": {**MONTH, "sort": sort}, "y": SALES})
        assert [word for word in words(of) if word.istitle()] == expected


def test_lines_over_time_and_aggregates_are_drawn() -> None:
    rows = [{"day": f"2026-01-0{day}T00:00:00", "n": day % 3, "kind": kind} for day in range(1, 7) for kind in "ab"]
    encoding = {
        "x": {"field": "day", "type": "temporal"},
        "y": {"aggregate": "mean", "field": "n", "type": "quantitative", "title": "Number"},
        "color": {"field": "kind", "type": "nominal"},
    }
    of = {"mark": {"type": "line"}, "data": {"name": "d"}, "datasets": {"d": rows}, "encoding": encoding}
    assert svg(of).count("<polyline") == 2
    assert {"2026-01-01", "Number", "kind", "a", "b"} <= set(words(of))


def test_a_line_breaks_where_a_value_is_missing() -> None:
    rows = [{"at": at, "n": None if at == 3 else at} for at in range(1, 7)]
    x, y = {"field": "at", "type": "quantitative"}, {"field": "n", "type": "quantitative"}
    lines = re.findall(r'<polyline points="([^"]+)"', svg(chart("line", rows, x=x, y=y)))
    assert [len(line.split()) for line in lines] == [2, 3]


def test_moments_are_written_as_people_count_them() -> None:
    x, y = {"field": "at", "type": "temporal"}, {"field": "n", "type": "quantitative"}
    spans = {
        ("2026-01-01T07:59:00", "2026-01-01T12:30:00"): ["08:00", "09:00", "10:00", "11:00", "12:00"],
        ("2026-01-01", "2026-01-16"): [f"2026-01-{day:02}" for day in range(1, 17, 2)],
        ("2025-11-20", "2026-04-02"): ["2025-12", "2026-01", "2026-02", "2026-03", "2026-04"],
        ("1990-05-01", "2023-01-01"): ["1995", "2000", "2005", "2010", "2015", "2020"],
    }
    for ends, expected in spans.items():
        rows = [{"at": end, "n": 1.5} for end in ends]
        found = [
            word for word in words(chart("line", rows, x=x, y=y)) if re.fullmatch(r"\d\d\d\d(-.*)?|\d\d:\d\d", word)
        ]
        assert found == expected


def test_bars_of_several_colours_are_stacked_and_ones_below_zero_go_down() -> None:
    rows = [{"g": "one", "c": c, "n": n} for c, n in (("a", 2), ("b", 3), ("c", -1))]
    of = chart("bar", rows, x={"field": "g", "type": "nominal"}, y={"field": "n", "type": "quantitative"},
        color={"field": "c", "type": "nominal", "scale": {"range": ["#111111", "#222222", "#333333"]}})  # fmt: skip
    tops = _bars(svg(of))
    unit = tops["#333333"][1]
    assert tops["#222222"][1] == pytest.approx(3 * unit, abs=0.3)
    # The last group stands at the bottom, the first on top of it, the one below zero under the line.
    assert tops["#111111"][0] + tops["#111111"][1] == pytest.approx(tops["#222222"][0], abs=0.2)
    assert tops["#222222"][0] + tops["#222222"][1] == pytest.approx(tops["#333333"][0], abs=0.2)


def _bars(text: str) -> dict[str, tuple[float, float]]:
    """Where each bar begins and how tall it is, by its colour; the legend's squares come later and are left out."""
    found = re.findall(r'<rect x="[^"]+" y="([^"]+)" width="[^"]+" height="([^"]+)" fill="(#\w+)"', text)
    bars: dict[str, tuple[float, float]] = {}
    for top, height, colour in found:
        bars.setdefault(colour, (float(top), float(height)))
    return bars


def test_bins_stand_on_their_edges_and_spans_lie_between_their_ends() -> None:
    rows = [{"low": low, "high": low + 10, "n": n} for low, n in ((0, 4), (10, 8))]
    low, n = {"field": "low", "type": "quantitative"}, {"field": "n", "type": "quantitative"}
    bins = chart("bar", rows, x={**low, "bin": "binned"}, x2={"field": "high"}, y=n)
    (left, _, width, short), (right, _, _, tall) = numbers(svg(bins), "rect", "x", "y", "width", "height")
    assert (left + width, tall) == (pytest.approx(right), pytest.approx(2 * short))
    spans = chart({"type": "bar", "size": 14}, rows, x=low, x2={"field": "high"}, y={"field": "n", "type": "nominal"})
    assert {height for (height,) in numbers(svg(spans), "rect", "height") if height < 60} == {14.0}


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors_and_no_zero() -> None:
    x = {"field": "x", "type": "quantitative", "scale": {"type": "log"}}
    y = {"field": "y", "type": "quantitative"}
    text = svg(chart("point", [{"x": size, "y": 1} for size in (1, 10, 100)], x=x, y=y))
    places = [place for place, _ in numbers(text, "circle", "cx", "cy")]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)
    assert drawn(chart("point", [{"x": 0, "y": 1}], x=x, y=y)) is None
    assert drawn(chart("bar", [{"x": 5, "y": 1}], x=x, y={"field": "y", "type": "nominal"})) is None


def test_numbers_are_shown_as_colours_with_a_scale_beside_them() -> None:
    rows = [{"a": a, "b": b, "n": a * b} for a in (1, 2) for b in (3, 5)]
    a, b = {"field": "a", "type": "ordinal"}, {"field": "b", "type": "ordinal"}
    colour = {"field": "n", "type": "quantitative", "title": "how many"}
    plain = chart(
        "rect", rows, x=a, y=b, color={**colour, "scale": {"domain": [0, 10], "range": ["#ffffff", "#000000"]}}
    )
    assert {'fill="#b2b2b2"', 'fill="#000000"'} <= set(re.findall(r'fill="#\w+"', svg(plain)))
    assert {"how many", "0", "10"} <= set(words(plain))
    schemed = chart("rect", rows, x=a, y=b, color={**colour, "scale": {"scheme": "cividis", "type": "sqrt"}})
    assert {'fill="#00224e"', 'fill="#fee838"'} <= set(re.findall(r'fill="#\w+"', svg(schemed)))


def test_a_colour_by_a_simple_question_is_answered_for_every_bar() -> None:
    asked = {"condition": {"test": "datum.sales < 0", "value": "#D55E00"}, "value": "#0072B2"}
    assert _bars(svg(spec(encoding={"x": MONTH, "y": SALES, "color": asked}))).keys() == {"#0072B2", "#D55E00"}
    selected = {"condition": {"param": "brush", "value": "#D55E00"}, "value": "#0072B2"}
    assert _bars(svg(spec(encoding={"x": MONTH, "y": SALES, "color": selected}))).keys() == {"#D55E00"}


def test_a_domain_cuts_off_what_lies_outside() -> None:
    rows = [{"at": at, "n": n} for at, n in ((1, 1), (2, 1e9), (3, 2))]
    y = {"field": "n", "type": "quantitative", "scale": {"domain": [0, 3]}}
    of = chart("line", rows, x={"field": "at", "type": "quantitative"}, y=y)
    assert 'clip-path="url(#plot)"' in svg(of)
    assert {"0", "3"} <= set(words(of)) and "1,000,000,000" not in words(of)


def test_titles_of_several_lines_long_ones_and_long_names_are_kept_within_the_picture() -> None:
    of = spec(title={"text": ["One line", "and another " * 15], "subtitle": "below it"})
    found = words(of)
    assert found[0] == "One line" and "below it" in found[:6]
    assert all(len(line) < 100 for line in found)
    long = [{"month": "m" * 300, "sales": 1}]
    assert "m" * 35 + "…" in words(chart("bar", long, y=MONTH, x=SALES))


def test_shares_are_written_in_hundredths_and_steps_give_the_height() -> None:
    of = chart("bar", [{"g": "a", "n": 0.5}, {"g": "b", "n": 0.25}], y={"field": "g", "type": "nominal"},
        x={"field": "n", "type": "quantitative", "axis": {"format": "%"}, "scale": {"domain": [0, 1]}})  # fmt: skip
    assert {"0 %", "100 %"} <= set(words(of))
    heights = [re.findall(r'<svg [^>]* height="(\d+)"', svg({**of, "height": {"step": step}}))[0] for step in (20, 30)]
    assert int(heights[1]) - int(heights[0]) == 20


# ── layers ──


def test_layers_share_their_axes_and_keep_their_order() -> None:
    rows = [{"g": "a", "low": 12, "high": 18, "middle": 15}, {"g": "b", "low": 13, "high": 21, "middle": 16}]
    group = {"field": "g", "type": "nominal", "sort": None}
    layers = [
        {"mark": {"type": "bar", "size": 14, "opacity": 0.3, "color": "#0072B2"}, "title": "Said once",
         "encoding": {"y": group, "x2": {"field": "high"}, "x": {
             "field": "low", "type": "quantitative", "title": "mass (g)", "scale": {"zero": False}}}},
        {"mark": {"type": "rule", "strokeWidth": 4}, "title": "Said once",
         "encoding": {"y": group, "x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "size": 90, "color": "#D55E00"}, "title": "Said once",
         "encoding": {"y": group, "x": {"field": "middle", "type": "quantitative"}}},
    ]  # fmt: skip
    of = {"layer": layers, "data": {"values": rows}, "height": {"step": 28}, "width": "container"}
    text, found = svg(of), words(of)
    assert found.count("Said once") == 1 and "mass (g)" in found and "low" not in found and "0" not in found
    assert text.index('fill-opacity="0.3"') < text.index('stroke-width="4"') < text.index("<circle")
    spans = numbers(text, "rect", "x", "width", "y")
    rules = [one for one in numbers(text, "line", "x1", "x2", "y1", "stroke-width") if one[3] == 4]
    assert [(left, left + width) for left, width, _ in spans] == [rule[:2] for rule in rules]


def test_a_rule_with_one_place_goes_from_edge_to_edge() -> None:
    rule = {"mark": "rule", "encoding": {"y": {"aggregate": "mean", **SALES}}}
    constant = {"mark": {"type": "rule", "strokeDash": [4, 2]}, "encoding": {"y": {"datum": 4}}}
    points = {"mark": "point", "encoding": {"x": {**SALES, "field": "n"}, "y": SALES}}
    rows = [{"n": 1, "sales": 2}, {"n": 3, "sales": 6}]
    text = svg({"layer": [points, rule, constant], "data": {"values": rows}})
    across = [
        one for one in numbers(text, "line", "x1", "x2", "y1", "y2", "stroke-width") if one[0] == 0 and one[1] > 300
    ]
    assert len(across) == 2 and across[0][2:4] == across[1][2:4]
    assert 'stroke-dasharray="4 2"' in text


# ── what is not drawn ──


@pytest.mark.parametrize(
    "change",
    [
        {"mark": "geoshape"}, {"mark": []}, {"mark": {"type": {}}}, {"transform": [{"filter": "x"}]}, {"layer": []},
        {"mark": {"type": "line", "interpolate": "step-after"}}, {"layer": [{"layer": []}]}, {"resolve": {}},
        {"facet": {}}, {"data": {"url": "https://evil/data.csv"}}, {"data": {"values": "x"}}, {"data": {"values": [1]}},
        {"data": {"values": []}}, {"encoding": []}, {"encoding": {}}, {"encoding": {"x": {"field": "month"}}},
        {"encoding": {"x": {"bin": True, "field": "sales", "type": "quantitative"}, "y": {"aggregate": "count"}}},
        {"encoding": {"x": MONTH, "y": SALES, "size": {"field": "sales"}}},
        {"encoding": {"x": MONTH, "y": {**SALES, "aggregate": {"a": 1}}}},
        {"encoding": {"x": MONTH, "y": {**SALES, "sort": {"x": 1}}}},
        {"encoding": {"x": MONTH, "y": {**SALES, "scale": {"reverse": True}}}},
        {"encoding": {"x": MONTH, "y": {**SALES, "scale": {"domain": [3, 3]}}}},
        {"encoding": {"x": MONTH, "y": {**SALES, "stack": "normalize"}}},
        {"encoding": {"x": MONTH, "y": SALES, "color": {"field": "month", "type": ["nominal"]}}},
        {"encoding": {"x": MONTH, "y": SALES, "color": {**SALES, "scale": {"scheme": "unheard of"}}}},
        {"encoding": {"x": MONTH, "y": SALES, "color": {"condition": {"test": "f()", "value": "red"}, "value": "red"}}},
        {"data": {"values": [*ROWS, *ROWS]}},
        {"data": {"values": [{"month": str(number), "sales": 1} for number in range(500)]}},
    ],
)  # fmt: skip
def test_a_chart_that_is_not_plain_is_not_drawn_at_all(change: dict[str, Any]) -> None:
    assert drawn({**spec(), **change}) is None


def test_layers_that_cannot_share_an_axis_are_not_drawn() -> None:
    of = {"data": {"values": ROWS}, "layer": [{"mark": "bar", "encoding": {"x": MONTH, "y": SALES}}]}
    assert drawn(of) is not None
    other = {"mark": "point", "encoding": {"x": MONTH, "y": {"field": "month", "type": "nominal"}}}
    assert drawn({**of, "layer": [*of["layer"], other]}) is None


def test_a_chart_that_cannot_be_drawn_is_said_and_described() -> None:
    html = shown("application/vnd.vegalite.v6+json", json.dumps({"layer": []}), text="chart bar x=a, y=b")
    assert html == ('<p class="note">Interactive chart: open the notebook to see it.</p><pre>chart bar x=a, y=b</pre>')


def test_the_picture_the_kernel_made_stands_in_for_a_chart_that_cannot_be_drawn() -> None:
    output = CellOutput(mimetype="application/vnd.vegalite.v6+json", text="chart", data='{"layer": []}')
    variable = VariablePreview(name="chart", kind="figure", type="Chart", text="", picture=b"\x89PNG")
    html = output_html(CellOutcome(id=CellId("a"), name="a", status="ok", output=output, variables=(variable,)))
    assert html == '<img src="data:image/png;base64,iVBORw==" alt="chart">'


# ── strangers' specifications ──


def test_a_drawn_chart_says_what_it_shows_to_those_who_cannot_see_it() -> None:
    html = shown("application/vnd.vegalite.v6+json", json.dumps(spec(title='Sales "><script>')))
    alt = 'alt="Sales &quot;&gt;&lt;script&gt; (chart (bar), across: month, up: sales)"'
    assert alt in html and html.count("<") == 1


@pytest.mark.parametrize("colour", ['red"/><script>', "url(#x)", "#12", "RED;", "rgb(1,2,3)", 'a" onload="x'])
def test_only_plain_colours_reach_the_picture(colour: str) -> None:
    text = svg(spec({"type": "bar", "color": colour, "stroke": colour}))
    assert colour not in text and "script" not in text and "onload" not in text
    assert drawn(spec(encoding={"x": MONTH, "y": SALES, "color": {"value": colour}})) is None
    ranged = {**MONTH, "scale": {"range": [colour]}}
    assert drawn(spec(encoding={"x": MONTH, "y": SALES, "color": ranged})) is None


def test_a_line_for_every_row_and_many_layers_cost_no_more_than_their_length() -> None:
    rows = [{"at": at, "n": at, "name": f"line {at}"} for at in range(5_000)]
    encoding = {
        "x": {"field": "at", "type": "quantitative"},
        "y": {"field": "n", "type": "quantitative"},
        "detail": {"field": "name"},
    }
    layer = {"mark": "line", "encoding": encoding}
    assert svg({"data": {"values": rows}, "layer": [layer]}).count("<polyline") == 5_000
    assert drawn({"data": {"values": rows}, "layer": [layer] * 3}) is None


WORDS = [
    "bar", "line", "area", "point", "rect", "rule", "x", "y", "month", "sales", "nominal", "quantitative", "temporal",
    "mean", "count", "log", "sqrt", "viridis", "binned", "#ffffff", "datum.sales < 0",
]  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS)
KEYS = st.sampled_from([
    "mark", "type", "data", "values", "encoding", "x", "y", "x2", "y2", "color", "field", "aggregate", "sort", "scale",
    "title", "zero", "axis", "stack", "layer", "domain", "range", "scheme", "bin", "datum", "order", "detail",
    "opacity", "height", "step", "condition", "test", "value", "param", "strokeDash", "size", "subtitle", "text",
    "nice", "point",
])  # fmt: skip
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
ODD = st.sampled_from([0.0, 1e-320, 1e308, -1e299, 5])
NUMBERS = st.floats(allow_nan=True) | st.integers(-(10**400), 10**400) | ODD
PARTS = st.dictionaries(KEYS, VALUES, max_size=6)


@given(PARTS)
def test_whatever_stands_in_a_specification_drawing_never_fails(of: dict[str, Any]) -> None:
    for changed in (
        {**spec(), **of},
        {**spec(), "encoding": {**spec()["encoding"], **of}},
        {**spec(), "encoding": {"x": MONTH, "y": {**SALES, **of}, "color": {**SALES, **of}}},
        {
            "data": {"values": ROWS},
            "layer": [{"mark": {"type": "line", **of}, "encoding": {"x": MONTH, "y": SALES}}, of],
        },
    ):
        if drawn(changed) is not None:
            assert not re.search(r"<script|javascript:|\son\w+=", svg(changed))


@given(
    st.lists(NUMBERS, min_size=1, max_size=5),
    st.sampled_from(["bar", "line", "area", "point", "rect", "rule"]),
    st.sampled_from(["temporal", "ordinal", "quantitative"]),
    st.booleans(),
    st.sampled_from([{}, {"type": "log"}, {"zero": False}, {"domain": [0, 1e-9]}, {"domain": [1, 1e299]}]),
)
def test_whatever_numbers_a_chart_has_drawing_never_fails(
    found: list[float], mark: str, kind: str, is_span: bool, scale: dict[str, Any]
) -> None:
    rows = [{"at": number, "n": number, "end": found[-1]} for number in found]
    encoding: dict[str, Any] = {
        "x": {"field": "at", "type": kind},
        "y": {"field": "n", "type": "quantitative", "scale": scale},
        "color": {"field": "n", "type": "quantitative"},
    }
    encoding |= {"y2": {"field": "end"}} if is_span else {}
    of = chart(mark, rows, **encoding)
    if drawn(of) is not None:
        assert not re.search(r"\b(nan|inf)\b", svg(of))
