"""What hypothesis draws for this room's tests: actions of every kind, ordinary and hostile."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import settings
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
)
from cellwright.policy.money import Money, UnknownPrice

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PROJECT = "/home/ada/penguins"

PROPERTY = settings(derandomize=True, database=None)


def any_text() -> st.SearchStrategy[str]:
    """Text of any kind, lone surrogates and NULs included."""
    return st.text(st.characters(categories=None), max_size=20)


def paths() -> st.SearchStrategy[str]:
    parts = st.sampled_from(["data", "x.csv", "..", ".", "", ".git", ".env", "home", "ada", "penguins", "*", "\0", "é"])
    return st.one_of(
        st.lists(parts, max_size=6).map("/".join),
        st.lists(parts, max_size=6).map(lambda chosen: "/" + "/".join(chosen)),
        st.just(f"{PROJECT}/data/x.csv"),
        any_text(),
    )


def hosts() -> st.SearchStrategy[str]:
    return st.one_of(
        st.sampled_from(
            [
                "example.com",
                "API.Example.COM.",
                "127.1",
                "0x7f000001",
                "[::1]",
                "::ffff:10.0.0.1",
                "bücher.de",
                "a@b",
                "",
            ]
        ),
        st.text("abc.-:[]@/%0123456789x*", max_size=20),
        any_text(),
    )


def money() -> st.SearchStrategy[Money]:
    strange = st.sampled_from(
        [Decimal("NaN"), Decimal("Infinity"), Decimal("sNaN"), Decimal("1e999"), Decimal("1e-99")]
    )
    return st.builds(
        Money,
        amount=st.one_of(st.decimals(min_value=-1, max_value=100, places=4), strange),
        currency=st.sampled_from(["USD", "EUR", "usd", ""]),
    )


def actions() -> st.SearchStrategy[Action]:
    """Any action at all."""
    text = any_text()
    return st.one_of(
        st.builds(EditCells, notebook=paths(), diff=text),
        st.builds(RunCode, notebook=paths(), code=text),
        st.builds(ReadFile, path=paths()),
        st.builds(WriteFile, path=paths(), diff=text),
        st.builds(DeleteFile, path=paths()),
        st.builds(UseNetwork, host=hosts(), port=st.integers(-1, 70000), purpose=text),
        st.builds(QueryConnection, connection=text, access=st.sampled_from(["read", "write"]), statement=text),
        st.builds(
            InstallPackage,
            requirement=st.one_of(st.sampled_from(["numpy", "NumPy>=2", "numpy @ https://evil.example/n.whl"]), text),
            index=st.one_of(st.just(""), text),
        ),
        st.builds(
            Spend, price=st.one_of(money(), st.builds(UnknownPrice, why=text)), tokens=st.integers(-1, 9), purpose=text
        ),
        st.builds(RunShell, command=st.lists(text, max_size=3).map(tuple), folder=paths()),
        st.builds(GitCommit, repository=paths(), branch=text, message=text, diff=text),
        st.builds(CallServerTool, server=text, tool=text, arguments=text),
        st.builds(ChangeAttached, server=text, notebook=text, change=text),
    )
