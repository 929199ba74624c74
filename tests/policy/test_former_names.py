"""Names that the documentation imported from a room can be imported from there for one version more."""

from __future__ import annotations

import importlib

import pytest

FORMER = {
    "cellwright.policy": """
        Actor ApprovalQuestion BUILT_IN_RULES BudgetLedger Masker ModelOrigin Money Pending Person QuestionId RuleText
        Secret Use UseId UseNetwork Yes answer grant_of judge read_rules reserve settle
    """,
    "cellwright.sandbox": "AllowedHost Egress EgressRecord Limits probe",
}


@pytest.mark.parametrize("room", FORMER)
def test_every_former_name_is_found_in_its_room_and_no_other(room: str) -> None:
    found = importlib.import_module(room)
    assert [name for name in FORMER[room].split() if not hasattr(found, name)] == []
    assert not hasattr(found, "nobody")
