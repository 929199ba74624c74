"""What a research is written as: a form of ours or a person's template, and what writers are told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.runs.goal.request import GoalRequest, read_goal
from cellwright.runs.research.form import FORMS, TEMPLATE, form_text, read_form
from cellwright.runs.research.handed_in import SectionText
from cellwright.runs.research.report import ResearchReport, markdown_of

MEMO = "# To the board\n\n## What happened\n"


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_ours_has_words_of_its_own_for_writers(tmp_path: Path, form: str) -> None:
    assert read_form(form, tmp_path) == (form, "")
    others = {form_text(each, "") for each in FORMS if each != form}
    assert len(form_text(form, "")) > 100
    assert form_text(form, "") not in others


def test_a_template_is_told_to_writers_word_for_word(tmp_path: Path) -> None:
    (tmp_path / "memo.md").write_text(MEMO)
    assert read_form("memo.md", tmp_path) == (TEMPLATE, MEMO)
    assert MEMO in form_text(TEMPLATE, MEMO)
    typed = GoalRequest(words="Why?", wants="research", form="memo.md", sources=["memo.md"])
    goal = read_goal(typed, person="ada", here=tmp_path)
    assert (goal.form, goal.template) == (TEMPLATE, MEMO)


@pytest.mark.parametrize(
    ("form", "says"),
    [("poem", "No form 'poem'"), ("nowhere.md", "cannot be read"), ("empty.md", "0 characters"), ("long.md", "20,001")],
)
def test_a_form_that_is_none_is_said_with_those_there_are(tmp_path: Path, form: str, says: str) -> None:
    (tmp_path / "empty.md").write_text("")
    (tmp_path / "long.md").write_text("x" * 20_001)
    with pytest.raises(UserError, match=says) as refused:
        read_form(form, tmp_path)
    assert refused.value.hint


def test_slides_are_parted_by_rules_and_nothing_else_is() -> None:
    sections = tuple(SectionText(title=each, text="So.", cards=()) for each in ("One", "Two"))

    def written(form: str) -> str:
        report = ResearchReport(question="Why?", title="Why", summary="So.", sections=sections, form=form)
        return markdown_of(report, {}, (), "/")

    assert written("slides").split("\n\n---\n\n") == [
        "# Why\n\nSo.",
        "## One\n\nSo.",
        "## Two\n\nSo.",
        "## Sources\n\n\n",
    ]
    assert "---" not in written("report")
