"""Lasting yeses: told in a stream of their own, and folded into what holds now.

Only a yes for a run or for always is told here: one for once is used up by the very action that asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from pydantic import TypeAdapter, ValidationError

from cellwright.journal import Fact, Recorded
from cellwright.policy import Grant, Person, QuestionId, revoke

STREAM: Final = "approvals"
_GIVEN: Final = "grant-given"
_REVOKED: Final = "grant-revoked"
_GRANT: Final = TypeAdapter(Grant)

Grants = Mapping[QuestionId, Grant]


def given(grant: Grant) -> Fact:
    """What is told when a person says yes for longer than once."""
    return Fact(topic=_GIVEN, subject=grant.id, text=_GRANT.dump_json(grant).decode())


def taken_back(grant: Grant, person: Person) -> Fact:
    """What is told when a person takes a yes back."""
    return Fact(topic=_REVOKED, subject=grant.id, text=f"{person.name} at {person.door}")


def with_event(grants: Grants, recorded: Recorded) -> Grants:
    """The grants after one more event. What cannot be read allows nothing, so it asks again."""
    event = recorded.event
    if isinstance(event, Fact) and event.topic == _GIVEN:
        grant = _read(event.text)
        return grants if grant is None or grant.id in grants else {**grants, grant.id: grant}
    if isinstance(event, Fact) and event.topic == _REVOKED:
        found = grants.get(QuestionId(event.subject))
        now = datetime.fromtimestamp(recorded.at_ms / 1000, UTC)
        return grants if found is None else {**grants, found.id: revoke(found, now)}
    return grants


async def read_grants(read: Callable[[str], AsyncIterable[Recorded]]) -> Grants:
    """Every lasting yes by its question, those that are over included; `read` is a log's or a flow's."""
    grants: Grants = {}
    async for recorded in read(STREAM):
        grants = with_event(grants, recorded)
    return grants


def _read(text: str) -> Grant | None:
    try:
        return _GRANT.validate_json(text)
    except ValidationError:
        return None
