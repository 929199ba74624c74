"""A notebook in a prompt: the relevant first, never above the budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.ids import CellId
from cellwright.notebook.document import Cell, CellConfig, Document
from cellwright.notebook.prompt_summary import CellOutcomeText, clip, estimate_tokens, summary


def notebook(*cells: Cell) -> Document:
    return Document(cells=cells)


def numbered(count: int) -> Document:
    return notebook(*(Cell(id=CellId(f"c{index}"), code=f"x{index} = {index}\n# {'~' * 60}") for index in range(count)))


SMALL = notebook(
    Cell(id=CellId("setup"), code="import math", name="setup"),
    Cell(id=CellId("aaaa"), code="x = math.pi", name="load"),
    Cell(id=CellId("bbbb"), code='y = x / 0\nprint("""```""")', version=3),
    Cell(id=CellId("cccc"), code="z = = 1"),
    Cell(id=CellId("dddd"), code="", config=CellConfig(disabled=True)),
    Cell(id=CellId("eeee"), code="q = r"),
    Cell(id=CellId("ffff"), code="r = q"),
    Cell(id=CellId("gggg"), code="x = 2"),
)
OUTCOMES = {
    CellId("aaaa"): CellOutcomeText(status="ok", output="3.14", variables={"x": "float 3.14"}),
    CellId("bbbb"): CellOutcomeText(status="failed", error="ZeroDivisionError: float division by zero"),
}


def test_a_small_notebook_is_told_whole() -> None:
    assert summary(SMALL, OUTCOMES, 1000, focus=[CellId("bbbb")]) == snapshot('''\
Notebook: 8 cells (1 broken, 1 disabled, 1 failed, 4 not run, 1 ok)
Cycle between eeee, ffff through q, r
Defined twice: x in aaaa, gggg
[3] bbbb v3 failed
defines y
needs x of aaaa, gggg
````python
y = x / 0
print("""```""")
````
error: ZeroDivisionError: float division by zero
[2] aaaa 'load' v1 ok
defines x
needs math of setup
used by bbbb
```python
x = math.pi
```
output: 3.14
x = float 3.14
[8] gggg v1 not run
defines x
used by bbbb
```python
x = 2
```
[4] cccc v1 broken
syntax: invalid syntax (line 1)
```python
z = = 1
```
[1] setup v1 not run
defines math
used by aaaa
```python
import math
```
[5] dddd v1 disabled
```python

```
[6] eeee v1 not run
defines q
needs r of ffff
used by ffff
```python
q = r
```
[7] ffff v1 not run
defines r
needs q of eeee
used by eeee
```python
r = q
```\
''')


def test_what_the_code_says_already_is_not_told_again() -> None:
    words = "# Delays\n\nRead as minutes between the time that was planned and the one that came."
    document = notebook(
        Cell(id=CellId("aaaa"), code=f'mo.md("""{words}""")'),
        Cell(id=CellId("bbbb"), code="def late(by):\n    return by > 5\n\nmost = 5"),
    )
    outcomes = {
        CellId("aaaa"): CellOutcomeText(status="ok", output=words),
        CellId("bbbb"): CellOutcomeText(status="ok", output="5", variables={"late": "late(by)", "most": "int 5"}),
    }
    told = summary(document, outcomes, 1000)
    assert told.count("Read as minutes") == 1
    assert "late = late(by)" not in told
    assert told.endswith("```\noutput: 5\nmost = int 5")


def test_focus_comes_first_then_neighbours_failures_and_changes() -> None:
    document = notebook(
        Cell(id=CellId("aaaa"), code="a = 1"),
        Cell(id=CellId("bbbb"), code="b = 1", version=2),
        Cell(id=CellId("cccc"), code="c = 1"),
        Cell(id=CellId("dddd"), code="d = c"),
        Cell(id=CellId("eeee"), code="e = d"),
        Cell(id=CellId("ffff"), code="f = 1", version=9),
    )
    text = summary(document, {CellId("aaaa"): CellOutcomeText(status="failed")}, 1000, focus=[CellId("dddd")])
    positions = [text.index(f"] {cell} v") for cell in ("dddd", "cccc", "eeee", "aaaa", "ffff", "bbbb")]
    assert positions == sorted(positions)


def test_what_does_not_fit_is_told_in_a_line_or_counted() -> None:
    text = summary(numbered(100), {}, 300, focus=[CellId("c50")])
    assert "[51] c50 v1 not run\n" in text
    assert "\n[1] c0 v1 not run defines x0: x0 = 0\n" in text
    assert text.endswith(" more cells are not shown.)")
    assert "~" in text


def test_a_focused_cell_too_long_for_the_budget_is_shortened() -> None:
    long = notebook(Cell(id=CellId("aaaa"), code="\n".join(f"x{number} = {number}" for number in range(900))))
    assert "more characters)" in summary(long, {}, 400, focus=[CellId("aaaa")])
    assert "aaaa v1 not run defines x0" in summary(long, {}, 100, focus=[CellId("aaaa")])
    assert "1 more cells are not shown" in summary(long, {}, 30, focus=[CellId("aaaa")])


def test_an_empty_notebook_and_an_empty_budget() -> None:
    assert summary(Document.new(), {}, 100) == "Notebook: 0 cells"
    assert summary(SMALL, {}, 0) == ""
    assert summary(SMALL, {}, -5) == ""


TEXTS = st.text(max_size=60) | st.sampled_from(
    ["x = 1", "y = x", "字" * 30, "é" * 40, "```", "def f(\n", "a\nb\n" * 30]
)
CELLS = st.lists(
    st.builds(
        Cell,
        id=st.just(CellId("")),
        code=TEXTS.filter(lambda code: ("\0" not in code and code.isprintable()) or code.isascii()),
        name=st.sampled_from(["_", "named", "n" * 50]),
        version=st.integers(1, 3),
    ),
    max_size=12,
)
STATUSES = st.sampled_from(["ok", "failed", "stale"])


@given(cells=CELLS, budget=st.integers(-1, 400), text=TEXTS, status=STATUSES, focused=st.integers(0, 12))
def test_the_summary_never_exceeds_its_budget(
    cells: list[Cell], budget: int, text: str, status: str, focused: int
) -> None:
    numbered_cells = [
        Cell(id=CellId(f"c{index}"), code=cell.code, name=cell.name, version=cell.version)
        for index, cell in enumerate(cells)
    ]
    outcome = CellOutcomeText(
        status="failed" if status == "failed" else "ok", error=text, output=text, variables={"v": text}
    )
    outcomes = {cell.id: outcome for cell in numbered_cells[::2]}
    told = summary(notebook(*numbered_cells), outcomes, budget, focus=[CellId(f"c{focused}")])
    assert estimate_tokens(told) <= max(budget, 0)


@given(text=st.text(), tokens=st.integers(0, 30))
def test_clipped_text_fits_and_short_text_is_left_alone(text: str, tokens: int) -> None:
    clipped = clip(text, tokens)
    assert estimate_tokens(clipped) <= tokens
    assert (clipped == text) == (estimate_tokens(text) <= tokens)


@given(parts=st.lists(st.text()))
def test_a_whole_costs_no_more_than_its_parts(parts: list[str]) -> None:
    assert estimate_tokens("".join(parts)) <= sum(map(estimate_tokens, parts))


def test_the_estimate_is_three_ascii_characters_or_a_byte_and_a_half_of_others_to_a_token() -> None:
    assert [estimate_tokens(text) for text in ("", "abc", "abcd", "字", "é")] == [0, 1, 2, 2, 2]
