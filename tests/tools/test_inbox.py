"""Lasting yeses as events: kept whole, folded in order, and nothing unreadable ever allows anything."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import assume, given
from pydantic import TypeAdapter

from cellwright.journal.events import Event, Fact, Recorded, TaskChanged, encode, kind_of
from cellwright.policy.actions import Action, Spend
from cellwright.policy.approvals import Answered, ApprovalQuestion, Grant, QuestionId, Yes, grant_of
from cellwright.policy.serialization import action_json
from cellwright.policy.targets import Scope, scope_of
from cellwright.runs.events import EVENT_TYPES
from cellwright.tools.approval import approval_questions as book
from tests.policy.strategies import NOW, PROJECT, PROPERTY, actions
from tests.tools.guard_driver import ADA, RATES


def granted(action: Action, number: str = "r#1") -> Grant:
    question = ApprovalQuestion(
        id=QuestionId(number), run="r", project=PROJECT, about=action, reason="because", asked_at=NOW
    )
    grant = grant_of(Answered(question=question, reply=Yes(reach="always"), by=ADA, at=NOW))
    assert grant is not None
    return grant


def folded(*events: Event) -> book.Grants:
    grants: book.Grants = {}
    for number, event in enumerate(events, start=1):
        at_ms = int((NOW + timedelta(seconds=number)).timestamp() * 1000)
        read = EVENT_TYPES.decode(kind_of(event), encode(event).decode())
        recorded = Recorded(stream=book.STREAM, sequence=number, at_ms=at_ms, event=read, link="")
        grants = book.with_event(grants, recorded)
    return grants


def is_unicode(action: Action) -> bool:
    """The guard asks about nothing else."""
    text = json.dumps(action_json(action), ensure_ascii=False)
    return text.encode(errors="ignore").decode() == text


@PROPERTY
@given(actions())
def test_a_grant_that_was_told_is_read_back_whole(action: Action) -> None:
    assume(not isinstance(action, Spend) and isinstance(scope_of(action, PROJECT), Scope) and is_unicode(action))
    grant = granted(action)
    assert folded(book.GrantGiven(grant=grant)) == {grant.id: grant}


def test_a_revoked_grant_is_over_from_the_moment_it_was_told() -> None:
    grant = granted(RATES)
    [after] = folded(book.GrantGiven(grant=grant), book.GrantRevoked(grant=grant.id, by="ada")).values()
    assert grant.is_active(NOW)
    assert not after.is_active(NOW)
    assert after.revoked_at == datetime(2026, 3, 1, 12, 0, 2, tzinfo=UTC)


def test_a_yes_that_is_told_twice_does_not_undo_its_revocation() -> None:
    grant = granted(RATES)
    [after] = folded(
        book.GrantGiven(grant=grant), book.GrantRevoked(grant=grant.id, by="b at cli"), book.GrantGiven(grant=grant)
    ).values()
    assert after.revoked_at is not None


def test_a_grant_that_the_version_before_told_as_a_fact_counts_and_can_be_revoked() -> None:
    grant = granted(RATES)
    then = Fact(topic="grant-given", subject=grant.id, text=TypeAdapter(Grant).dump_json(grant).decode())
    assert folded(then) == {grant.id: grant}
    [after] = folded(then, Fact(topic="grant-revoked", subject=grant.id, text="ada at cli")).values()
    assert after.revoked_at is not None


def test_what_cannot_be_read_allows_nothing() -> None:
    grant = granted(RATES)
    assert folded(Fact(topic="grant-given", subject="r#1", text='{"id": "r#1"}')) == {}
    assert folded(book.GrantRevoked(grant=grant.id, by="ada")) == {}
    assert folded(Fact(topic="other", subject="r#1"), TaskChanged(task="t", title="t", state="done")) == {}
