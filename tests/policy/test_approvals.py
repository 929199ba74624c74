"""Questions are answered by persons only, for what they were shown only, and as far as they said only."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import Defect, UserError
from cellwright.policy.actions import Action, ReadFile, Spend, UseNetwork, WriteFile, fingerprint
from cellwright.policy.approvals import (
    AgreedEnvelope,
    Answered,
    AnswerRefused,
    ApprovalQuestion,
    Grant,
    KernelOrigin,
    ModelOrigin,
    No,
    Origin,
    Pending,
    Person,
    QuestionId,
    QuestionState,
    Reply,
    Yes,
    active,
    answer,
    envelope_agreed,
    grant_of,
    revoke,
    use,
)
from cellwright.policy.envelope import Envelope, envelope_of
from cellwright.policy.money import Money
from cellwright.policy.serialization import parse_question, question_json
from cellwright.policy.targets import Malformed, scope_of
from tests.policy.strategies import NOW, PROJECT, PROPERTY, actions

ADA = Person(name="ada", door="web")
WRITE = WriteFile(path="out.csv", diff="+1")
ENVELOPE = envelope_of([WRITE, UseNetwork(host="10.0.0.1", port=1), UseNetwork(host="::1", port=2)], project=PROJECT)
HOUR = timedelta(hours=1)


def question(about: Action | Envelope = WRITE, expires_at: datetime | None = None) -> ApprovalQuestion:
    return ApprovalQuestion(
        id=QuestionId("q1"),
        run="r1",
        project=PROJECT,
        about=about,
        reason="rules.toml:3 says ask.",
        asked_at=NOW,
        expires_at=expires_at,
    )


def answered(asked: ApprovalQuestion, reply: Reply) -> Answered:
    given_answer = answer(Pending(question=asked), reply, origin=ADA, shown_fingerprint=asked.fingerprint, now=NOW)
    assert isinstance(given_answer, Answered)
    return given_answer


def granted(reply: Reply, about: Action = WRITE) -> Grant:
    grant = grant_of(answered(question(about), reply))
    assert grant is not None
    return grant


def refusal(state: QuestionState, reply: Reply, **more: Any) -> str:
    known: dict[str, Any] = {"origin": ADA, "shown_fingerprint": state.question.fingerprint, "now": NOW}
    refused = answer(state, reply, **(known | more))
    assert isinstance(refused, AnswerRefused)
    assert refused.message
    return refused.why


def envelope() -> Envelope:
    assert isinstance(ENVELOPE, Envelope)
    return ENVELOPE


def test_a_masked_question_names_what_is_shown_and_what_stands_behind_it_and_is_for_once() -> None:
    masked = replace(question(), masked_from=fingerprint(WriteFile(path="out.csv", diff="+2")))
    other = replace(question(), masked_from=fingerprint(WriteFile(path="out.csv", diff="+3")))
    assert len({asked.fingerprint for asked in (question(), masked, other)}) == 3
    assert masked.offers == ("once",)
    assert refusal(Pending(question=masked), Yes(reach="always")) == "not-offered"
    assert masked.describe().endswith("Secrets in it are masked.")
    assert parse_question(question_json(Pending(question=masked))) == Pending(question=masked)


def test_a_question_shows_everything_there_is_to_see() -> None:
    assert question().describe() == (
        "Write the file out.csv:\n+1\n"
        "Asked because: rules.toml:3 says ask.\n"
        f"A yes for this run or always would cover: write anything to {PROJECT}/out.csv"
    )
    assert "covers" not in question(envelope()).describe()
    assert question(Spend(price=Money(amount=Decimal(1)))).describe().endswith("says ask.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impostor(Person):
    """Something made in a plugin that claims to be a person."""


@pytest.mark.parametrize(
    "origin", [KernelOrigin(kernel="k1"), ModelOrigin(agent="planner"), Impostor(name="ada", door="web"), None, "ada"]
)
def test_nothing_but_a_person_at_an_interface_can_answer(origin: Any) -> None:
    assert refusal(Pending(question=question()), Yes(reach="once"), origin=origin) == "not-a-person"
    assert refusal(Pending(question=question()), No(), origin=origin) == "not-a-person"


def test_an_answer_counts_only_for_what_was_shown() -> None:
    other = fingerprint(replace(WRITE, diff="+2"))
    assert refusal(Pending(question=question()), Yes(reach="once"), shown_fingerprint=other) == "not-what-was-shown"
    assert refusal(Pending(question=question()), No(), shown_fingerprint="") == "not-what-was-shown"


def test_the_first_answer_stands() -> None:
    assert refusal(answered(question(), No(feedback="use the copy")), Yes(reach="once")) == "already-answered"


def test_a_lapsed_question_takes_no_answer() -> None:
    asked = question(expires_at=NOW + HOUR)
    pending = Pending(question=asked)
    assert refusal(pending, Yes(reach="once"), now=NOW + HOUR) == "lapsed"


def test_only_what_is_offered_can_be_said() -> None:
    money = question(Spend(price=Money(amount=Decimal(1))))
    assert money.offers == ("once",)
    assert refusal(Pending(question=money), Yes(reach="always")) == "not-offered"
    assert refusal(Pending(question=question(envelope())), Yes(reach="always")) == "not-offered"


@pytest.mark.parametrize("lasts", [timedelta(0), timedelta(days=-1), timedelta(days=366)])
def test_always_has_an_end(lasts: timedelta) -> None:
    assert refusal(Pending(question=question()), Yes(reach="always", lasts=lasts)) == "too-long"


def allows(grant: Grant, action: Action, **more: Any) -> bool:
    known: dict[str, Any] = {"project": PROJECT, "run": "r1", "now": NOW}
    return grant.allows(action, **(known | more))


def test_once_is_for_exactly_this_action_in_this_run_and_used_up() -> None:
    grant = granted(Yes(reach="once"))
    assert allows(grant, WRITE)
    assert not allows(grant, replace(WRITE, diff="+2"))
    assert not allows(grant, WRITE, run="r2")
    used = use(grant, NOW)
    assert not allows(used, WRITE)
    assert use(used, NOW + HOUR) is used


def test_for_this_run_is_for_this_target_in_this_run() -> None:
    grant = granted(Yes(reach="run"))
    assert allows(use(grant, NOW), replace(WRITE, diff="+2", path=f"{PROJECT}/./out.csv"))
    assert not allows(grant, WriteFile(path="other.csv", diff="+1"))
    assert not allows(grant, ReadFile(path="out.csv"))
    assert not allows(grant, WRITE, run="r2")


def test_always_is_for_this_target_in_this_project_until_it_ends() -> None:
    grant = granted(Yes(reach="always", lasts=HOUR))
    assert allows(grant, replace(WRITE, diff="+2"), run="r2")
    assert not allows(grant, WRITE, project="/other")
    assert not allows(grant, WRITE, now=NOW + HOUR)
    assert not allows(revoke(grant, NOW), WRITE)


def test_grants_are_listed_until_they_end_and_can_be_revoked_once() -> None:
    once, always = granted(Yes(reach="once")), granted(Yes(reach="always"))
    revoked = revoke(always, NOW)
    assert revoke(revoked, NOW + HOUR) is revoked
    assert active([once, use(once, NOW), always, revoked], NOW) == (once, always)
    what = f"q1: write anything to {PROJECT}/out.csv"
    assert once.describe() == f"{what}, once, said ada at web"
    assert use(once, NOW).describe() == f"{what}, once, used, said ada at web"
    assert revoked.describe() == f"{what}, always, until 2026-05-30T12:00:00+00:00, revoked, said ada at web"
    assert granted(Yes(reach="run")).describe() == f"{what}, in run r1, said ada at web"


def test_a_no_grants_nothing() -> None:
    assert grant_of(answered(question(), No(feedback="use the copy"))) is None
    assert envelope_agreed(answered(question(envelope()), No())) is None


def test_an_envelope_is_agreed_to_for_its_run() -> None:
    done = answered(question(envelope()), Yes(reach="run"))
    assert envelope_agreed(done) == AgreedEnvelope(envelope=envelope(), run="r1", by=ADA, at=NOW)
    assert grant_of(done) is None
    assert envelope_agreed(answered(question(), Yes(reach="run"))) is None


def test_a_question_about_what_nobody_can_judge_grants_nothing() -> None:
    asked = question(ReadFile(path=".."))
    assert asked.scope is None
    with pytest.raises(Defect):
        grant_of(answered(asked, Yes(reach="once")))


@PROPERTY
@given(
    asked=actions(),
    tried=actions(),
    reach=st.sampled_from(["once", "run", "always"]),
    run=st.sampled_from(["r1", "r2"]),
)
def test_a_grant_never_reaches_further_than_was_shown(asked: Action, tried: Action, reach: Any, run: str) -> None:
    shown = question(asked)
    done = answer(Pending(question=shown), Yes(reach=reach), origin=ADA, shown_fingerprint=shown.fingerprint, now=NOW)
    if isinstance(done, AnswerRefused) or shown.scope is None:
        return
    grant = grant_of(done)
    assert grant is not None
    assert allows(grant, asked)
    if allows(grant, tried, run=run):
        assert scope_of(tried, PROJECT) == shown.scope
        assert not isinstance(scope_of(tried, PROJECT), Malformed)
        assert reach == "always" or run == "r1"
        assert reach != "once" or fingerprint(tried) == fingerprint(asked)


STATES: list[QuestionState] = [
    Pending(question=question()),
    Pending(question=question(ENVELOPE if isinstance(ENVELOPE, Envelope) else WRITE, expires_at=NOW + HOUR)),
    answered(question(), Yes(reach="always", lasts=HOUR)),
    answered(question(), No(feedback="use the copy")),
]


@pytest.mark.parametrize("state", STATES)
def test_a_question_survives_being_kept(state: QuestionState) -> None:
    assert parse_question(json.loads(json.dumps(question_json(state)))) == state


@PROPERTY
@given(plan=st.lists(actions(), max_size=5))
def test_every_envelope_survives_being_kept(plan: list[Action]) -> None:
    texts = [action for action in plan if "\\ud" not in repr(action) and "\\ud" not in repr(scope_of(action, PROJECT))]
    made = envelope_of(texts, project=PROJECT)
    if isinstance(made, Envelope):
        state = Pending(question=question(made))
        again = parse_question(json.loads(json.dumps(question_json(state))))
        assert again == state
        assert again.question.fingerprint == state.question.fingerprint


def without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != key}


@pytest.mark.parametrize(
    "change",
    [
        {"state": "won"},
        {"extra": 1},
        {"question": {}},
        {"question": question_json(STATES[0])["question"] | {"action": None}},
        {"question": question_json(STATES[0])["question"] | {"about": {}}},
        {"question": question_json(STATES[0])["question"] | {"urgent": True}},
        {"question": without(question_json(STATES[0])["question"], "expires_at")},
        {"question": None},
        {"reply": {"says": "yes", "reach": "always"}},
        {"reply": {"says": "perhaps"}},
        {"reply": {"reach": "once", "lasts": "PT1H"}},
        {"by": {"name": "ada", "door": "cli", "role": "root"}},
        {"by": {"name": "ada", "door": "kernel"}},
    ],
)
def test_an_altered_question_is_not_read(change: dict[str, Any]) -> None:
    answered_yes = question_json(STATES[2])
    assert parse_question(answered_yes) == STATES[2]
    with pytest.raises(UserError):
        parse_question(answered_yes | change)


def test_what_is_no_object_is_no_question() -> None:
    with pytest.raises(UserError):
        parse_question(["pending"])


def test_origins_are_a_closed_set() -> None:
    origins: list[Origin] = [ADA, KernelOrigin(kernel="k"), ModelOrigin(agent="a")]
    states = [
        answer(STATES[0], No(), origin=origin, shown_fingerprint=question().fingerprint, now=NOW) for origin in origins
    ]
    assert [type(state).__name__ for state in states] == ["Answered", "AnswerRefused", "AnswerRefused"]
