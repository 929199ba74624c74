"""When a cell of somebody else's notebook may be changed, by what was heard of its page."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from cellwright.ids import CellId
from cellwright.kernel.attached.session_mirror import SessionMirror
from cellwright.kernel.attached.stream_messages import (
    Change,
    CodeChange,
    ConfigWire,
    CreateChange,
    DocumentChanged,
    TransactionWire,
)
from cellwright.kernel.attached.typing_rules import Permission, TypingSigns, patience_seconds, seconds_to_wait

MINE, THEIRS = CellId("mine"), CellId("theirs")
NOW = 1_000.0


def waits(touched: Collection[CellId] = (MINE,), permission: Permission = "standing", **heard: Any) -> float:
    given: dict[str, Any] = {"typed": {}, "typed_at": 0.0, "told_at": 0.0, "since": 900.0, "pages": 1}
    return round(seconds_to_wait(TypingSigns(**(given | heard)), touched, permission, NOW), 3)


def just_told(cell: CellId, ago: float = 0.1) -> dict[str, Any]:
    return {"typed": {cell: NOW - ago}, "typed_at": NOW - ago, "told_at": NOW - ago}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(waits(pages=0, **just_told(MINE)), 0.0, id="no page is open"),
        pytest.param(waits(touched=(), **just_told(THEIRS)), 0.0, id="new cells disturb nobody"),
        pytest.param(waits(**just_told(THEIRS)), 0.0, id="the page has just told all it had, of another cell"),
        pytest.param(waits(**just_told(MINE)), 9.9, id="they type in this very cell"),
        pytest.param(waits(**just_told(THEIRS, 1.0)), 29.0, id="they may be typing again, who knows where"),
        pytest.param(waits(**(just_told(THEIRS) | {"typed_at": NOW})), 30.0, id="they typed on since it was told"),
        pytest.param(waits(pages=2, **just_told(THEIRS)), 29.9, id="another page has not told"),
        pytest.param(waits(**just_told(THEIRS, 31.0)), 0.0, id="a long silence"),
        pytest.param(waits(since=NOW - 1), 29.0, id="nothing was heard yet, for a second"),
        pytest.param(waits(permission="now", **just_told(THEIRS, 5.0)), 0.0, id="they have just said yes elsewhere"),
        pytest.param(waits(permission="now", **just_told(MINE, 1.0)), 2.0, id="they said yes, and had typed here"),
    ],
)
def test_a_cell_waits_while_somebody_may_be_typing_in_it(seconds: float, expected: float) -> None:
    assert seconds == expected


@pytest.mark.parametrize(
    ("touched", "permission", "silent", "expected"),
    [
        pytest.param((MINE,), "standing", 0.1, 0.4, id="the moment alone allows it"),
        pytest.param((MINE,), "standing", 31.0, 3.0, id="in a long silence a busy machine may take its time"),
        pytest.param((MINE,), "now", 0.1, 3.0, id="they have just said yes elsewhere"),
        pytest.param((), "standing", 0.1, 3.0, id="new cells disturb nobody"),
    ],
)
def test_a_change_begins_in_time_or_not_at_all(
    touched: Collection[CellId], permission: Permission, silent: float, expected: float
) -> None:
    assert patience_seconds(NOW - silent, touched, permission, NOW) == expected


def test_a_page_that_says_back_what_it_was_told_gives_no_sign_of_typing() -> None:
    mirror = SessionMirror()

    def hear(source: str, change: Change, at: float) -> None:
        mirror.hear(DocumentChanged(transaction=TransactionWire(changes=[change], source=source)), at)

    hear("kernel", CreateChange(cell_id="Hbol", code="x = 1", name="_", config=ConfigWire()), 1.0)
    hear("frontend", CodeChange(cell_id="Hbol", code="x = 1"), 2.0)
    assert (mirror.typed, mirror.typed_at, mirror.typed_code) == ({}, 0.0, [])
    hear("frontend", CodeChange(cell_id="Hbol", code="x = 12"), 3.0)
    assert (mirror.typed, mirror.typed_at, mirror.typed_code) == ({"Hbol": 3.0}, 3.0, [("Hbol", "x = 12")])
