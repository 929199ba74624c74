"""An envelope holds exactly what was planned, and says so in words."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

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
)
from cellwright.policy.envelope import Envelope, covers, envelope_of
from cellwright.policy.money import Money, UnknownPrice
from cellwright.policy.targets import Malformed, scope_of
from tests.policy.strategies import PROJECT, PROPERTY, actions

PLAN: list[Action] = [
    EditCells(notebook="a.py", diff="+x"),
    RunCode(notebook="a.py", code="x"),
    ReadFile(path="data/x.csv"),
    WriteFile(path="out.csv", diff="+1"),
    DeleteFile(path="old.csv"),
    UseNetwork(host="API.example.com.", port=443),
    QueryConnection(connection="sales", access="read", statement="SELECT 1"),
    QueryConnection(connection="sales", access="write", statement="DROP"),
    InstallPackage(requirement="NumPy>=2"),
    InstallPackage(requirement="x @ https://example.com/x.whl"),
    RunShell(command=("git", "status"), folder="."),
    GitCommit(repository=".", branch="work", message="", diff=""),
    CallServerTool(server="github", tool="search", arguments="{}"),
    Spend(price=Money(amount=Decimal("0.25"))),
    Spend(price=Money(amount=Decimal("1.5"))),
    Spend(price=UnknownPrice()),
]


def planned(*plan: Action, money: Money | None = None) -> Envelope:
    envelope = envelope_of(plan, project=PROJECT, money=money)
    assert isinstance(envelope, Envelope)
    return replace(envelope, wall_seconds=Decimal(600))


def test_an_envelope_is_told_as_one_card() -> None:
    assert planned(*PLAN).describe() == snapshot("""\
Notebooks to edit:
  edit any cell of /home/ada/penguins/a.py
Notebooks to run:
  run any code in the cage of /home/ada/penguins/a.py
Files to read:
  read /home/ada/penguins/data/x.csv
Files to write:
  write anything to /home/ada/penguins/out.csv
Files to delete:
  delete /home/ada/penguins/old.csv
Hosts to reach:
  connect to api.example.com port 443
Connections to use:
  change anything through the connection sales
  read anything from the connection sales
Packages to install:
  install numpy from the configured index, any version
  install x from https://example.com/x.whl, any version
Commands to run:
  run exactly ['git', 'status'] in /home/ada/penguins
Branches to commit to:
  commit anything to the branch work of /home/ada/penguins
Tools to call:
  call the tool search of github with any arguments
Money: at most 1.75 USD in all
Time: at most 600 seconds\
""")


def test_an_empty_envelope_says_so() -> None:
    assert Envelope(project=PROJECT).describe() == "Nothing that needs to be asked about"


def test_what_is_covered_is_just_what_was_shown() -> None:
    envelope = planned(*PLAN)
    near: list[Action] = [
        ReadFile(path="data/y.csv"),
        DeleteFile(path="data/x.csv"),
        UseNetwork(host="api.example.com", port=80),
        UseNetwork(host="example.com", port=443),
        QueryConnection(connection="hr", access="read", statement="SELECT 1"),
        InstallPackage(requirement="numpy", index="http://evil"),
        InstallPackage(requirement="x"),
        RunShell(command=("git", "status", "-s"), folder="."),
        RunShell(command=("git", "status"), folder="/"),
        GitCommit(repository=".", branch="main", message="", diff=""),
        CallServerTool(server="github", tool="delete", arguments="{}"),
        Spend(price=Money(amount=Decimal("1.76"))),
        Spend(price=Money(amount=Decimal("0.1"), currency="EUR")),
        Spend(price=UnknownPrice()),
        ReadFile(path="data/../x"),
    ]
    assert [action for action in near if covers(envelope, action)] == []
    far: list[Action] = [
        ReadFile(path=f"{PROJECT}/data/./x.csv"),
        UseNetwork(host="api.EXAMPLE.com", port=443, purpose="other words"),
        QueryConnection(connection="sales", access="read", statement="SELECT 2"),
        InstallPackage(requirement="numpy==2.1"),
        Spend(price=Money(amount=Decimal("1.75"))),
    ]
    assert [action for action in far if not covers(envelope, action)] == []


def test_prices_in_two_currencies_are_not_added_up() -> None:
    prices = [Spend(price=Money(amount=Decimal(1), currency=currency)) for currency in ("USD", "EUR")]
    assert planned(*prices).money is None
    assert not covers(planned(*prices), prices[0])
    assert planned(*prices, money=Money(amount=Decimal(3))).money == Money(amount=Decimal(3))


def test_a_plan_with_an_action_nobody_can_judge_has_no_envelope() -> None:
    assert isinstance(envelope_of([ReadFile(path="..")], project=PROJECT), Malformed)


@PROPERTY
@given(plan=st.lists(actions(), max_size=5), other=actions())
def test_an_envelope_covers_its_plan_and_nothing_else(plan: list[Action], other: Action) -> None:
    sound = [action for action in plan if not isinstance(scope_of(action, PROJECT), Malformed)]
    envelope = planned(*sound)
    for action in sound:
        assert isinstance(action, Spend | ChangeAttached) or covers(envelope, action)
    if not isinstance(other, Spend) and covers(envelope, other):
        assert scope_of(other, PROJECT) in [scope_of(action, PROJECT) for action in sound]
    assert envelope.fingerprint == planned(*reversed(sound)).fingerprint
    assert envelope.describe()
