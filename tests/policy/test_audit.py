"""The audit tells who did what, when, under which rule, with which result, and nothing can be smuggled into it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given

from cellwright.errors import UserError
from cellwright.policy.actions import Action, ReadFile, WriteFile, fingerprint
from cellwright.policy.audit import Actor, AuditEntry, AuditFilter, audit_entry, parse_since
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.judgement import judge
from cellwright.policy.rule_file import read_rules
from tests.policy.strategies import NOW, PROJECT, PROPERTY, actions

RULES = read_rules([BUILT_IN_RULES], project=PROJECT)
AGENT = Actor(person="ada", agent="builder-1", role="builder")


def entry_of(action: Action, *, detail: str = "", **more: Any) -> AuditEntry:
    known: dict[str, Any] = {"at": NOW, "run": "r1", "who": AGENT, "result": "done"}
    return replace(audit_entry(action, judge(action, RULES, run="r1", now=NOW), **(known | more)), detail=detail)


def test_an_entry_says_everything_on_one_line() -> None:
    asked = entry_of(WriteFile(path="out.csv", diff="+1\n+2"), result="waiting")
    assert asked.line() == (
        "2026-03-01T12:00:00+00:00 r1 ada via builder-1 (builder): Write the file out.csv"
        " [ask by default for write-file] waiting"
    )
    denied = entry_of(
        WriteFile(path=".git/config", diff=""), result="refused", detail="told\nthe agent", who=Actor(person="bo")
    )
    assert denied.line() == (
        "2026-03-01T12:00:00+00:00 r1 bo: Write the file .git/config [deny by built-in rules:1]"
        " refused: told\\u000athe agent"
    )
    assert str(Actor(person="ada", agent="a1")) == "ada via a1"


def test_an_entry_as_json_has_only_words() -> None:
    entry = entry_of(ReadFile(path="data/x.csv"))
    assert entry.json() == {
        "at": "2026-03-01T12:00:00Z",
        "run": "r1",
        "who": {"person": "ada", "agent": "builder-1", "role": "builder"},
        "kind": "read-file",
        "what": "Read the file data/x.csv",
        "action": fingerprint(ReadFile(path="data/x.csv")),
        "verdict": "allow",
        "basis": "default for read-file",
        "reason": "No rule of yours speaks of it; the default for read-file is allow.",
        "result": "done",
        "detail": "",
    }


@PROPERTY
@given(action=actions())
def test_every_action_has_its_one_line(action: Action) -> None:
    entry = entry_of(action)
    assert len(entry.line().splitlines()) == 1
    assert entry.line().isprintable()


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (AuditFilter(), True),
        (AuditFilter(run="r1"), True),
        (AuditFilter(run="r2"), False),
        (AuditFilter(since=NOW), True),
        (AuditFilter(since=NOW + timedelta(seconds=1)), False),
        (AuditFilter(until=NOW), False),
        (AuditFilter(until=NOW + timedelta(seconds=1)), True),
        (AuditFilter(person="ada", kind="read-file"), True),
        (AuditFilter(person="bo"), False),
        (AuditFilter(kind="spend"), False),
    ],
)
def test_a_filter_shows_what_was_asked_for(wanted: AuditFilter, matches: bool) -> None:
    assert wanted.matches(entry_of(ReadFile(path="x"))) is matches


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90s", NOW - timedelta(seconds=90)),
        ("5m", NOW - timedelta(minutes=5)),
        ("2h", NOW - timedelta(hours=2)),
        ("3d", NOW - timedelta(days=3)),
        ("1w", NOW - timedelta(weeks=1)),
        ("2026-03-01", NOW.replace(hour=0)),
        ("2026-03-01T12:00", NOW),
        ("2026-03-01T13:00+01:00", NOW),
    ],
)
def test_a_time_is_read_as_people_write_it(text: str, moment: Any) -> None:
    assert parse_since(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "soon", "2 h", "-1d", "999999w", "2026-13-01"])
def test_a_time_nobody_can_read_is_told(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_since(text, NOW)
    assert caught.value.hint


def test_entries_can_be_masked_before_they_are_kept() -> None:
    entry = entry_of(ReadFile(path="x"))
    assert replace(entry, what="[masked]").line() != entry.line()
