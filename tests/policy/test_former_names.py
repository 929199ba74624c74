"""Names that the documentation imported from a room can be imported from there for one version more."""

from __future__ import annotations

import importlib

import pytest

FORMER = {
    "cellwright.agents": "AgentReport Assignment Note PromptPart Rank Role Weight assemble",
    "cellwright.policy": """
        Actor ApprovalQuestion BUILT_IN_RULES BudgetLedger Masker ModelOrigin Money Pending Person QuestionId RuleText
        Secret Use UseId UseNetwork Yes answer grant_of judge read_rules reserve settle
    """,
    "cellwright.journal": "CostRecorded Effect Flow Journal Question Records Workflow",
    "cellwright.kernel": "BadCall CallFailed Committed KernelPool Returned call_notebook",
    "cellwright.notebook": """
        After AtEnd AtStart Before ConfigureCell CreateCell DeleteCell Document EditCell MoveCell RenameCell apply_edits
        new read save
    """,
    "cellwright.sandbox": "AllowedHost Egress EgressRecord Limits probe",
    "cellwright.tools": "ActionRefused Guard Inbox standing_rules",
}


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, names in FORMER.items() for name in names.split()])
def test_a_former_name_is_found_in_its_room_and_says_where_it_is_now(room: str, name: str) -> None:
    with pytest.deprecated_call(match=rf"`{room}.{name}` is imported from `{room}\..+` now"):
        assert getattr(importlib.import_module(room), name) is not None


@pytest.mark.parametrize("room", FORMER)
def test_no_other_name_is_found_in_a_room(room: str) -> None:
    assert not hasattr(importlib.import_module(room), "nobody")
