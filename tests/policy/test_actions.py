"""Actions tell exactly what will happen, travel as JSON unchanged, and are named by their fingerprint."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import UserError
from cellwright.policy.actions import (
    ACTIONS,
    KINDS,
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
from cellwright.policy.money import Money, UnknownPrice
from cellwright.policy.serialization import action_json, parse_action
from tests.policy.strategies import PROPERTY, actions

DESCRIBED: list[tuple[Action, str]] = [
    (EditCells(notebook="a.py", diff="-x = 1\n+x = 2"), "Edit cells of a.py:\n-x = 1\n+x = 2"),
    (EditCells(notebook="a.py", diff=""), "Edit cells of a.py"),
    (RunCode(notebook="a.py", code="x = 1"), "Run code in the kernel of a.py:\nx = 1"),
    (ReadFile(path="data/x.csv"), "Read the file data/x.csv"),
    (WriteFile(path="out.csv", diff="+1"), "Write the file out.csv:\n+1"),
    (DeleteFile(path="out.csv"), "Delete the file out.csv"),
    (UseNetwork(host="api.example.com", port=443), "Connect to api.example.com port 443"),
    (UseNetwork(host="a.b", port=1, purpose="prices"), "Connect to a.b port 1 for prices"),
    (
        QueryConnection(connection="sales", access="read", statement="SELECT 1"),
        "Read from the connection sales:\nSELECT 1",
    ),
    (
        QueryConnection(connection="sales", access="write", statement="DROP TABLE x"),
        "Change data through the connection sales:\nDROP TABLE x",
    ),
    (InstallPackage(requirement="numpy>=2"), "Install the package numpy>=2"),
    (InstallPackage(requirement="x", index="http://a"), "Install the package x from the index http://a"),
    (Spend(price=Money(amount=Decimal("0.10")), tokens=9, purpose="a brief"), "Spend 0.10 USD (9 tokens) for a brief"),
    (Spend(price=UnknownPrice(why="no price list")), "Spend an unknown price (no price list)"),
    (Spend(price=UnknownPrice()), "Spend an unknown price"),
    (RunShell(command=("rm", "-r", "a b"), folder="."), 'Run "rm" "-r" "a b" in .'),
    (
        GitCommit(repository=".", branch="main", message="Fix", diff="+1"),
        "Commit to the branch main of .:\nFix\n\n+1",
    ),
    (
        ChangeAttached(server="http://127.0.0.1:2718", notebook="a.py", change="+x"),
        "Change a cell of a notebook outside our cage, a.py on http://127.0.0.1:2718:\n+x",
    ),
    (CallServerTool.of("github", "search", {"q": "x"}), 'Call the tool search of github:\n{"q": "x"}'),
]


@pytest.mark.parametrize(("action", "described"), DESCRIBED)
def test_an_action_tells_what_will_happen(action: Action, described: str) -> None:
    assert action.describe() == described


def test_every_kind_has_its_action() -> None:
    assert tuple(ACTIONS) == KINDS
    assert {action.kind for action, _ in DESCRIBED} == set(KINDS)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("safe.txt\n\rRead nothing", "Read the file safe.txt\\u000a\\u000dRead nothing"),
        ("a\u202etxt.exe", "Read the file a\\u202etxt.exe"),
        ("a\u200bb\x1b[2K", "Read the file a\\u200bb\\u001b[2K"),
        ("\U000e0041", "Read the file \\U000e0041"),
        ("Größe 数据.csv", "Read the file Größe 数据.csv"),
    ],
)
def test_nothing_invisible_reaches_the_person(path: str, told: str) -> None:
    assert ReadFile(path=path).describe() == told


@PROPERTY
@given(action=actions())
def test_json_brings_back_the_same_action(action: Action) -> None:
    text = json.dumps(action_json(action))
    try:
        again = parse_action(json.loads(text))
    except UserError:
        # Lone surrogates and amounts that are none are not taken in from outside.
        assert isinstance(action, Spend) or "\\ud" in repr(action)
        return
    assert again == action
    assert fingerprint(again) == fingerprint(action)


@PROPERTY
@given(one=actions(), other=actions())
def test_fingerprints_are_equal_only_for_equal_actions(one: Action, other: Action) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (repr(one) == repr(other))
    assert fingerprint(one) == fingerprint(one)


def test_the_same_money_written_otherwise_is_the_same_action() -> None:
    one, other = (Spend(price=Money(amount=Decimal(text))) for text in ("1.0", "1.00"))
    assert fingerprint(one) == fingerprint(other)


def test_money_that_differs_in_its_last_digit_is_another_action() -> None:
    one, other = (Spend(price=Money(amount=Decimal("1." + "0" * 40 + digit))) for digit in "12")
    assert fingerprint(one) != fingerprint(other)
    zero, nothing = (Spend(price=Money(amount=Decimal(text))) for text in ("0", "NaN"))
    assert fingerprint(zero) != fingerprint(nothing)


def test_an_absurd_amount_is_told_briefly() -> None:
    assert len(Spend(price=Money(amount=Decimal("1e999999999"))).describe()) < 40


def test_equal_fields_of_another_kind_are_another_action() -> None:
    assert fingerprint(ReadFile(path="x")) != fingerprint(DeleteFile(path="x"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "must be a JSON object"),
        ({"action": "fly"}, "Unknown action 'fly'"),
        ({"action": ["read-file"]}, "Unknown action"),
        ({"action": "read-file"}, "field 'path'"),
        ({"action": "read-file", "path": 1}, "field 'path'"),
        ({"action": "read-file", "path": "x", "mode": "w"}, "'mode'"),
        ({"action": "use-network", "host": "a", "port": "443"}, "field 'port'"),
        ({"action": "use-network", "host": "a", "port": True}, "field 'port'"),
        ({"action": "query-connection", "connection": "a", "access": "admin", "statement": ""}, "field 'access'"),
        ({"action": "spend", "price": {"amount": "NaN", "currency": "USD"}}, "'price'"),
        ({"action": "spend", "price": {"amount": "1", "currency": "USD", "free": True}}, "'price'"),
        ({"action": "read-file", "path": b"x"}, "cannot be written as JSON"),
    ],
)
def test_a_mistake_in_json_names_the_field(data: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_action(data)
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.slow
@PROPERTY
@given(data=st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_any_json_is_an_action_or_a_clear_error(data: Any) -> None:
    with pytest.raises(UserError):
        parse_action(data)
