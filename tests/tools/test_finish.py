"""Handing in the answer: filled in the kernel, doubted once, refused where it cannot be."""

import pytest

from cellwright.ids import CellId
from cellwright.kernel.answers import FilledField, NotebookTest
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, apply_edits
from cellwright.tools.finish_tool import doubts


def document(*codes: str) -> Document:
    made = apply_edits(Document(), [CreateCell(code=code, id=CellId(f"c{n}")) for n, code in enumerate(codes)])
    assert isinstance(made, Document)
    return made


TOTAL = "total = 6"
TEST = "def test_total():\n    assert total == 6"
PASSED = NotebookTest(name="test_total", verdict="passed")


def test_nothing_speaks_against_an_answer_whose_variable_a_passed_test_reads() -> None:
    assert doubts(document(TOTAL, TEST), [], [PASSED], frozenset({"total"}), []) == []


def test_words_need_no_test() -> None:
    assert doubts(document(TOTAL), [], [], frozenset(), []) == []


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ((TOTAL,), "no test reads total"),
        ((TOTAL, "other = 1", "def test_other():\n    assert other == 1"), "no test reads total"),
        ((TOTAL, "def test_total():\n    print(total)"), "test_total asserts nothing"),
    ],
)
def test_a_test_must_read_the_answer_and_assert(codes: tuple[str, ...], said: str) -> None:
    found = doubts(document(*codes), [], [], frozenset({"total"}), [])
    assert any(said in each for each in found)


def test_a_test_that_takes_the_variable_reads_it() -> None:
    taken = document(TOTAL, "def test_total(total):\n    assert total == 6")
    assert doubts(taken, [], [PASSED], frozenset({"total"}), []) == []


def test_cells_that_did_not_run_failed_tests_and_odd_values_are_named_the_worst_first() -> None:
    failed = NotebookTest(name="test_total", verdict="failed", message="AssertionError")
    odd = FilledField(field="{total}", text="nan", doubt="NaN")
    found = doubts(document(TOTAL, TEST), [CellId("c0")], [failed], frozenset({"total"}), [odd])
    assert found == ["cell c0 has not run well", "test_total failed: AssertionError", "{total} = 'nan' is not a number"]
