"""Actions become Allow, Deny or Ask: the stricter wins, and every verdict says what decided."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.policy.actions import (
    Action,
    CallServerTool,
    ChangeAttached,
    DeleteFile,
    EditCells,
    GitCommit,
    InstallPackage,
    QueryConnection,
    ReadFile,
    RunCode,
    RunShell,
    Spend,
    UseNetwork,
    WriteFile,
    fingerprint,
)
from cellwright.policy.approvals import AgreedEnvelope, Grant, Person, QuestionId
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.envelope import Envelope, envelope_of
from cellwright.policy.judgement import (
    Allow,
    Ask,
    Deny,
    judge,
    judge_plan,
)
from cellwright.policy.money import Money, UnknownPrice
from cellwright.policy.paths import PathPattern
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.policy.rules import STRICTNESS, AmountAbove, RuleEffect, Rules, may_match, surely_matches
from cellwright.policy.targets import Malformed, Scope, scope_of, target_of
from tests.policy.strategies import NOW, PROJECT, PROPERTY, actions

ADA = Person(name="ada", door="cli")


def rules_of(**layers: str) -> Rules:
    texts = [RuleText.of(_layer(name), f"{name}.toml", text) for name, text in layers.items()]
    return read_rules([*texts, BUILT_IN_RULES], project=PROJECT, home="/home/ada")


def _layer(name: str) -> Any:
    return name


def rule(action: str, then: str, **keys: list[str] | str) -> str:
    lines = [
        f"{key} = {str(value)!s}" if isinstance(value, list) else f'{key} = "{value}"' for key, value in keys.items()
    ]
    return "\n".join(["[[rule]]", f'action = "{action}"', f'then = "{then}"', *lines, ""])


def verdict(action: Action, rules: Rules, **more: Any) -> str:
    return type(judge(action, rules, run="r1", now=NOW, **more)).__name__


def usd(amount: str) -> Money:
    return Money(amount=Decimal(amount))


DEFAULTS: list[tuple[Action, str]] = [
    (EditCells(notebook="a.py", diff=""), "Allow"),
    (EditCells(notebook="/elsewhere/a.py", diff=""), "Ask"),
    (RunCode(notebook="a.py", code=""), "Allow"),
    (ReadFile(path="data/x.csv"), "Allow"),
    (ReadFile(path=f"{PROJECT}/data/x.csv"), "Allow"),
    (ReadFile(path="/etc/passwd"), "Ask"),
    (ReadFile(path="data/../../other/x"), "Deny"),
    (ReadFile(path=".env"), "Ask"),
    (ReadFile(path="deep/.env.local"), "Ask"),
    (ReadFile(path="/home/ada/.ssh/id_rsa"), "Ask"),
    (WriteFile(path="out.csv", diff=""), "Ask"),
    (WriteFile(path=".git/config", diff=""), "Deny"),
    (WriteFile(path="sub/.cellwright/rules.toml", diff=""), "Deny"),
    (DeleteFile(path=".git"), "Deny"),
    (DeleteFile(path="out.csv"), "Ask"),
    (UseNetwork(host="example.com", port=443), "Ask"),
    (UseNetwork(host="169.254.169.254", port=80), "Deny"),
    (UseNetwork(host="0xA9FEA9FE", port=80), "Deny"),
    (UseNetwork(host="[::ffff:169.254.169.254]", port=80), "Deny"),
    (UseNetwork(host="Metadata.Google.Internal.", port=80), "Deny"),
    (UseNetwork(host="64:ff9b::169.254.169.254", port=80), "Deny"),
    (UseNetwork(host="a@b", port=443), "Deny"),
    (UseNetwork(host="example.com", port=0), "Deny"),
    (QueryConnection(connection="sales", access="read", statement=""), "Ask"),
    (InstallPackage(requirement="numpy"), "Ask"),
    (InstallPackage(requirement=f"a; {'(' * 5000}"), "Deny"),
    (InstallPackage(requirement="--index-url=http://evil"), "Deny"),
    (Spend(price=usd("1")), "Allow"),
    (Spend(price=UnknownPrice()), "Ask"),
    (Spend(price=usd("-1")), "Deny"),
    (Spend(price=Money(amount=Decimal("NaN"))), "Deny"),
    (Spend(price=usd("1"), tokens=-1), "Deny"),
    (RunShell(command=("ls",), folder="."), "Ask"),
    (RunShell(command=(), folder="."), "Deny"),
    (RunShell(command=("ls",), folder=".."), "Deny"),
    (GitCommit(repository=".", branch="x", message="", diff=""), "Ask"),
    (GitCommit(repository="..", branch="x", message="", diff=""), "Deny"),
    (CallServerTool(server="s", tool="t", arguments=""), "Ask"),
    (ChangeAttached(server="http://127.0.0.1:1", notebook="a.py", change=""), "Ask"),
]


@pytest.mark.parametrize(("action", "expected"), DEFAULTS)
def test_what_holds_before_anybody_writes_a_rule(action: Action, expected: str) -> None:
    assert verdict(action, rules_of()) == expected


MATCHES: list[tuple[str, Action, str]] = [
    (rule("read-file", "allow", paths=["/srv/data/**"]), ReadFile(path="/srv/data/a/b"), "Allow"),
    (rule("read-file", "allow", paths=["/srv/data/**"]), ReadFile(path="/srv/data2/a"), "Ask"),
    (rule("read-file", "deny", paths=["secret/**"]), ReadFile(path=f"{PROJECT}/./secret//x"), "Deny"),
    (rule("write-file", "allow", paths=["**"], except_paths=["raw/**"]), WriteFile(path="raw/x", diff=""), "Ask"),
    (rule("use-network", "allow", hosts=["*.example.com:443"]), UseNetwork(host="a.example.com", port=443), "Allow"),
    (rule("use-network", "allow", hosts=["*.example.com:443"]), UseNetwork(host="a.example.com", port=80), "Ask"),
    (rule("use-network", "deny", hosts=["*"], except_hosts=["a.b"]), UseNetwork(host="a.b.c", port=1), "Deny"),
    (rule("use-network", "deny", hosts=["*"], except_hosts=["a.b"]), UseNetwork(host="A.B.", port=1), "Ask"),
    (
        rule("query-connection", "allow", connections=["sales"], access=["read"]),
        QueryConnection(connection="sales", access="read", statement="x"),
        "Allow",
    ),
    (
        rule("query-connection", "allow", connections=["sales"], access=["read"]),
        QueryConnection(connection="sales", access="write", statement="x"),
        "Ask",
    ),
    (rule("query-connection", "deny"), QueryConnection(connection="a", access="read", statement=""), "Deny"),
    (rule("install-package", "allow", packages=["scikit-learn"]), InstallPackage(requirement="Scikit.Learn"), "Allow"),
    (rule("install-package", "allow", packages=["*"]), InstallPackage(requirement="a @ https://evil/a.whl"), "Ask"),
    (rule("install-package", "allow", packages=["*"]), InstallPackage(requirement="a", index="http://evil"), "Ask"),
    (rule("install-package", "deny", packages=["a"]), InstallPackage(requirement="A", index="http://evil"), "Deny"),
    (
        rule("install-package", "deny", packages=["*"], except_packages=["a"]),
        InstallPackage(requirement="a @ https://evil/a.whl"),
        "Deny",
    ),
    (rule("spend", "ask", above="0.50 USD"), Spend(price=usd("0.50")), "Allow"),
    (rule("spend", "ask", above="0.50 USD"), Spend(price=usd("0.51")), "Ask"),
    (rule("spend", "deny", above="0.50 USD"), Spend(price=Money(amount=Decimal("0.1"), currency="EUR")), "Deny"),
    (rule("spend", "deny", above="0.50 USD"), Spend(price=UnknownPrice()), "Deny"),
    (rule("spend", "allow", up_to="9 USD"), Spend(price=UnknownPrice()), "Ask"),
    (rule("spend", "deny", above="1 USD", up_to="2 USD"), Spend(price=usd("3")), "Allow"),
    (rule("run-shell", "allow", commands=["git log **"]), RunShell(command=("git", "log", "-p"), folder="."), "Allow"),
    (rule("run-shell", "allow", commands=["git log **"]), RunShell(command=("git", "push"), folder="."), "Ask"),
    (rule("run-shell", "allow", commands=["ls *"]), RunShell(command=("ls", "a", "b"), folder="."), "Ask"),
    (rule("run-shell", "allow", commands=["ls *"]), RunShell(command=("ls; rm", "a"), folder="."), "Ask"),
    (
        rule("git-commit", "deny", branches=["main"]),
        GitCommit(repository=".", branch="main", message="", diff=""),
        "Deny",
    ),
    (
        rule("call-tool", "allow", tools=["github/search_*"]),
        CallServerTool(server="github", tool="search_x", arguments=""),
        "Allow",
    ),
    (rule("call-tool", "allow", tools=["github/*"]), CallServerTool(server="gitlab", tool="x", arguments=""), "Ask"),
    (
        rule("change-attached", "deny", servers=["http://127.0.0.1:*"]),
        ChangeAttached(server="http://127.0.0.1:2718", notebook="", change=""),
        "Deny",
    ),
    (rule("*", "deny"), EditCells(notebook="a.py", diff=""), "Deny"),
]


@pytest.mark.parametrize(("text", "action", "expected"), MATCHES)
def test_a_rule_of_the_person_speaks_about_just_what_it_says(text: str, action: Action, expected: str) -> None:
    assert verdict(action, rules_of(user=text)) == expected


NETWORK = UseNetwork(host="example.com", port=443)


@pytest.mark.parametrize("user", ["allow", "ask", "deny", ""])
@pytest.mark.parametrize("team", ["allow", "ask", "deny", ""])
@pytest.mark.parametrize("project", ["allow", "ask", "deny", ""])
def test_the_stricter_layer_wins_and_only_the_person_loosens(user: Any, team: Any, project: Any) -> None:
    layers = {"user": user, "team": team, "project": project}
    texts = {name: rule("use-network", says, hosts=["*"]) for name, says in layers.items() if says}
    sayings: list[RuleEffect] = [user or "ask", team or "allow", project or "allow"]
    strictest = max(sayings, key=lambda says: STRICTNESS[says])
    assert verdict(NETWORK, rules_of(**texts)).lower() == strictest


def test_a_verdict_names_the_rule_that_decided() -> None:
    text = "\n\n" + rule("use-network", "deny", hosts=["*"], reason="Offline work")
    decided = judge(NETWORK, rules_of(project=text), run="r1", now=NOW)
    assert isinstance(decided, Deny)
    assert decided.basis == "project.toml:3"
    assert decided.reason == "project.toml:3 says deny: Offline work"


def test_a_project_that_would_allow_is_heard_but_not_followed() -> None:
    decided = judge(NETWORK, rules_of(project=rule("use-network", "allow", hosts=["*"])), run="r1", now=NOW)
    assert decided == Ask(
        reason="No rule of yours speaks of it; the default for use-network is ask."
        " (project.toml:1 would allow it, but project rules can only tighten.)",
        basis="default for use-network",
    )


@pytest.mark.parametrize("host", ["localhost", "api.localhost.", "0x7f.1", "::1", "0", "::ffff:127.0.0.1"])
def test_services_of_this_machine_are_asked_about_whatever_is_allowed(host: str) -> None:
    everything = rules_of(user=rule("use-network", "allow", hosts=["*"]))
    assert verdict(NETWORK, everything) == "Allow"
    assert verdict(UseNetwork(host=host, port=8080), everything) == "Ask"


def test_a_reason_cannot_write_over_the_terminal() -> None:
    text = '[[rule]]\naction = "use-network"\nthen = "deny"\nreason = "a\\u001b[2Kb"\n'
    assert judge(NETWORK, rules_of(project=text), run="r1", now=NOW).reason == "project.toml:1 says deny: a\\u001b[2Kb"


def test_a_pattern_says_nothing_about_another_kind_of_target() -> None:
    target = target_of(NETWORK, PROJECT)
    assert not isinstance(target, Malformed)
    assert not surely_matches(PathPattern(parts=("**",)), target)
    assert not may_match(PathPattern(parts=("**",)), target)
    assert not may_match(AmountAbove(money=usd("0")), target)


def test_a_malformed_action_is_denied_with_its_reason() -> None:
    decided = judge(ReadFile(path="../x"), rules_of(), run="r1", now=NOW)
    assert isinstance(decided, Deny)
    assert (decided.basis, ".." in decided.reason) == ("malformed action", True)


def agreed(*planned: Action, run: str = "r1", project: str = PROJECT) -> AgreedEnvelope:
    envelope = envelope_of(planned, project=project)
    assert isinstance(envelope, Envelope)
    return AgreedEnvelope(envelope=envelope, run=run, by=ADA, at=NOW)


def granted(action: Action, reach: Any = "always") -> Grant:
    scope = scope_of(action, PROJECT)
    assert isinstance(scope, Scope)
    return Grant(
        id=QuestionId("q1"),
        reach=reach,
        run="r1",
        project=PROJECT,
        scope=scope,
        action=fingerprint(action),
        by=ADA,
        at=NOW,
    )


def test_inside_the_agreed_envelope_nothing_asks() -> None:
    decided = judge(NETWORK, rules_of(), agreed(NETWORK), run="r1", now=NOW)
    assert decided == Allow(reason="ada agreed to the plan.", basis="agreed envelope of run r1")


def test_an_envelope_of_another_run_or_project_allows_nothing() -> None:
    assert verdict(NETWORK, rules_of(), envelope=agreed(NETWORK, run="r2")) == "Ask"
    assert verdict(NETWORK, rules_of(), envelope=agreed(NETWORK, project="/other")) == "Ask"


def test_an_earlier_answer_is_remembered() -> None:
    decided = judge(NETWORK, rules_of(), grants=[granted(ReadFile(path="x")), granted(NETWORK)], run="r1", now=NOW)
    assert decided == Allow(reason="ada allowed it.", basis="answer to question q1")


def test_a_costly_read_is_asked_about_whatever_was_agreed_before_it_was_known() -> None:
    read = QueryConnection(connection="sales", access="read", statement="x")
    costly = replace(read, touches="The database expects to read about 3.2 TB for this.")
    rules = rules_of(user=rule("query-connection", "allow", connections=["sales"], access=["read"]))
    assert (verdict(read, rules), verdict(costly, rules)) == ("Allow", "Ask")
    assert "more than the connection lets pass unasked" in judge(costly, rules, run="r1", now=NOW).reason
    assert verdict(read, rules_of(), envelope=agreed(read)) == "Allow"
    assert verdict(costly, rules_of(), envelope=agreed(read)) == "Ask"
    assert verdict(costly, rules_of(), grants=[granted(read), granted(costly)]) == "Ask"
    assert verdict(costly, rules_of(), grants=[granted(costly, "once")]) == "Allow"
    assert verdict(costly, rules_of(user=rule("query-connection", "deny"))) == "Deny"


def test_neither_envelope_nor_answer_turns_a_no_into_a_yes() -> None:
    denied = rules_of(project=rule("use-network", "deny", hosts=["example.com"]))
    assert verdict(NETWORK, denied, envelope=agreed(NETWORK), grants=[granted(NETWORK)]) == "Deny"


@PROPERTY
@given(action=actions(), planned=st.lists(actions(), max_size=4), layers=st.lists(st.sampled_from(MATCHES), max_size=4))
def test_the_judgement_is_total_and_never_loosened_by_other_layers(
    action: Action, planned: list[Action], layers: list[tuple[str, Action, str]]
) -> None:
    envelopes = [
        envelope for envelope in [envelope_of([*planned, action], project=PROJECT)] if isinstance(envelope, Envelope)
    ]
    agreement = AgreedEnvelope(envelope=envelopes[0], run="r1", by=ADA, at=NOW) if envelopes else None
    texts = "\n".join(text for text, _, _ in layers)
    plain = judge(action, rules_of(), run="r1", now=NOW)
    tightened = judge(action, rules_of(project=texts, team=texts), run="r1", now=NOW)
    inside = judge(action, rules_of(project=texts), agreement, run="r1", now=NOW)
    assert STRICTNESS[_word(tightened)] >= STRICTNESS[_word(plain)]
    if isinstance(tightened, Deny):
        assert isinstance(inside, Deny)
    assert plain.reason and plain.basis


def _word(decided: Any) -> Any:
    return type(decided).__name__.lower()


def test_a_plan_needs_one_question_for_all_that_would_ask() -> None:
    denied = UseNetwork(host="169.254.169.254", port=80)
    plan = [ReadFile(path="data/x.csv"), NETWORK, InstallPackage(requirement="numpy"), denied]
    needed = judge_plan(plan, rules_of(), run="r1", now=NOW)
    assert [action for action, _ in needed.denied] == [denied]
    assert [action for action, _ in needed.asking] == plan[1:3]


def test_a_plan_inside_the_standing_rules_needs_no_question() -> None:
    assert judge_plan([ReadFile(path="data/x.csv")], rules_of(), run="r1", now=NOW).asking == ()


@pytest.mark.parametrize(("_text", "action", "_expected"), MATCHES)
def test_every_scope_is_told_and_named(_text: str, action: Action, _expected: str) -> None:
    scope = scope_of(action, PROJECT)
    assert isinstance(scope, Scope)
    assert scope.describe()
    assert scope.fingerprint == scope.fingerprint
