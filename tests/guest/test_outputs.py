"""What marimo's own formatter makes of a value, as text for a model and data for a person."""

import json
from typing import Any

import altair
import marimo as mo
import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from marimo._messaging.errors import MarimoSyntaxError
from marimo._output.formatting import try_format
from matplotlib.figure import Figure

from cellwright_guest import report_wire
from cellwright_guest.html_text import readable
from cellwright_guest.outputs import bound_output, png_size

mpl.use("agg")

FRAME: Any = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})


def shown(value: object, *, tokens: int = 200, rich_bytes: int = 1 << 20) -> report_wire.Output:
    formatted = try_format(value)
    return bound_output(formatted.mimetype, formatted.data, value, text_tokens=tokens, rich_bytes=rich_bytes)


def test_plain_values_are_shown_as_python_writes_them() -> None:
    assert [shown(value).text for value in (1, "hello", [1, {"a": 2}], {"a": 1}, None)] == snapshot(
        ["1", "'hello'", "[1, {'a': 2}]", "{'a': 1}", ""]
    )
    assert shown(1) == report_wire.Output(mimetype="text/html", text="1", data="<pre class='text-xs'>1</pre>")


def test_a_frame_is_shown_by_its_preview_and_drawn_as_marimos_table() -> None:
    output = shown(FRAME)
    assert output.text == "2 rows × 2 columns\nrows:\na: int64 | b: str\n1 | x\n2 | y"
    assert "<marimo-table" in output.data
    assert not output.cut


def test_markdown_is_shown_as_it_was_written() -> None:
    assert shown(mo.md("# Title\n\nSome *words*")).text == "# Title\n\nSome *words*"


def test_marimos_elements_are_reduced_to_what_they_are() -> None:
    stack = mo.vstack(
        [
            mo.md("**Choose**"),
            mo.ui.slider(1, 10, value=4, label="Size"),
            mo.ui.table(FRAME),
            mo.callout("Careful", kind="warn"),
            mo.stat(3, label="Count"),
        ]
    )
    assert shown(stack).text == snapshot(
        """\
Choose
[slider 'Size' = 4]
[table 2 rows × 2 columns]
Careful
[Count: 3]\
"""
    )
    assert shown(mo.ui.slider(1, 10, value=4, label="Size")).text == "mo.ui.slider 'Size' = 4"


def test_a_figure_is_described_and_its_picture_measured() -> None:
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert shown(figure).text == "figure 6.4×4.8 in, 1 axes\n1 line"
    mimetype, data = "image/png", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA="
    assert bound_output(mimetype, data, None, text_tokens=50, rich_bytes=999).text == "[image/png 640×480]"
    bundle = json.dumps({"image/png": data, "text/plain": "ignored"})
    output = bound_output("application/vnd.marimo+mimebundle", bundle, None, text_tokens=50, rich_bytes=999)
    assert output.text == "[image/png 640×480]"


def test_a_drawing_is_measured_and_a_broken_picture_is_not() -> None:
    assert png_size(b"\x89PNG\r\n\x1a\n\x00") is None
    svg = bound_output("image/svg+xml", "<svg width='10' height='20'>", None, text_tokens=50, rich_bytes=99)
    assert svg.text == "[image/svg+xml 10×20]"


def test_a_chart_is_described_by_mark_encodings_and_title() -> None:
    chart = altair.Chart(FRAME, title="Sales").mark_bar().encode(x="b:N", y="sum(a):Q")
    assert shown(chart).text == "chart bar 'Sales' x=b:N, y=sum(a):Q"
    formatted = try_format(chart)
    alone = bound_output(formatted.mimetype, formatted.data, None, text_tokens=200, rich_bytes=1 << 20)
    assert alone.text == "chart bar 'Sales' x=b, y=sum(a)"


def test_html_becomes_words_and_rows() -> None:
    markup = """
      <style>p {}</style><script>alert(1)</script><h2>Head</h2><p>One &amp; <b>two</b></p>
      <ul><li>first<li>second</ul><table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>
      <pre>  kept
   as is</pre><img alt="a cat" src="data:x">
    """
    assert readable(markup, 500)[0] == snapshot(
        """\
## Head
One & two
- first
- second
a | b
1 | 2
  kept
   as is
[image a cat]\
"""
    )


def test_data_over_the_cap_is_left_out_and_said_to_be() -> None:
    output = bound_output("text/html", "<p>" + "word " * 10_000, None, text_tokens=50, rich_bytes=1_000)
    assert output.data == ""
    assert output.cut
    assert len(output.text.encode()) <= 150
    many = bound_output("text/plain", "é" * 600, None, text_tokens=50, rich_bytes=1_000)
    assert (many.data, many.cut) == ("", True)


def test_errors_show_their_message() -> None:
    errors = [MarimoSyntaxError(msg="line 1\n  x =\nSyntaxError: invalid syntax", lineno=1)]
    output = bound_output("application/vnd.marimo+error", errors, None, text_tokens=50, rich_bytes=1_000)
    assert "invalid syntax" in output.text
    assert "invalid syntax" in output.data


# What begins the markup, what is repeated, how often: it is made only when its own test runs, not kept in every worker.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "part", "times", "end"),
    [
        ("", "<div>", 2_000_000, ""),
        ("<a href='", "x", 10_000_000, ""),
        ("", "<script>", 1_000_000, ""),
        ("", "<", 10_000_000, ""),
        ("", "<!", 3_000_000, ""),
        ("", "<!--", 2_000_000, ""),
        ("", "&", 5_000_000, ""),
        ("", "&#", 3_000_000, ""),
        ("<marimo-table data-data='", "x", 9_000_000, "'></marimo-table><p>after</p>"),
        ("<table>", "<tr><td>", 1_000_000, ""),
        ("", "a='", 3_000_000, ""),
        ("", "\ud800", 1_000_000, ""),
    ],
)
def test_hostile_markup_is_bounded(begin: str, part: str, times: int, end: str) -> None:
    markup = begin + part * times + end
    output = bound_output("text/html", markup, None, text_tokens=100, rich_bytes=1_000)
    assert len(output.text.encode()) <= 300
    assert output.data == ""


def test_text_after_a_huge_attribute_is_still_read() -> None:
    image = "<img src='data:image/png;base64," + "A" * 1_500_000 + "'><p>after</p>"
    assert bound_output("text/html", image, None, text_tokens=50, rich_bytes=10).text == "[image]\nafter"


class Odd(str):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __len__(self) -> int:
        raise RuntimeError("no length")


@pytest.mark.parametrize("data", [b"bytes", 3, None, {"a": object()}, [[]], object()])
@pytest.mark.parametrize(
    "mimetype",
    ["text/html", "text/plain", "application/json", "image/png", "application/vnd.marimo+error", "x/y", "video/mp4"],
)
def test_odd_data_never_raises(mimetype: str, data: object) -> None:
    output = bound_output(mimetype, data, None, text_tokens=20, rich_bytes=100)
    assert len(output.text.encode()) <= 60
    assert len(output.data.encode()) <= 100


def test_a_string_that_lies_about_itself_is_read_for_what_it_holds() -> None:
    assert bound_output("text/html", Odd("<b>x</b>"), None, text_tokens=20, rich_bytes=100) == report_wire.Output(
        mimetype="text/html", text="x", data="<b>x</b>"
    )


@given(st.text() | st.recursive(st.text(), lambda inner: st.lists(inner).map(lambda parts: f"<p>{''.join(parts)}</p>")))
def test_text_is_always_within_its_bound(markup: Any) -> None:
    for mimetype in ("text/html", "text/plain", "application/json", "application/vnd.vegalite.v5+json"):
        output = bound_output(mimetype, markup, None, text_tokens=10, rich_bytes=50)
        assert len(output.text.encode()) <= 30
        assert len(output.data.encode()) <= 50
