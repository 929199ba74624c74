"""marimo's linter on a document that is not on disk, and marimo's convention of tests in cells."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, EditRefused, apply_edits
from cellwright.notebook.marimo_check import LintFinding, check
from cellwright.notebook.marimo_check import tests_code as code_that_tests
from cellwright.notebook.marimo_check import tests_in as found_in

CONTRACT: list[tuple[str, str, list[str]]] = [
    ("marimo._ast.compiler", "contains_only_tests", ["tree"]),
    ("marimo._ast.parse", "parse_notebook", ["contents"]),
    ("marimo._ast.pytest", "has_fixture_decorator", ["node"]),
    ("marimo._lint.rule_engine", "RuleEngine.create_default", []),
    ("marimo._lint.rule_engine", "RuleEngine.check_notebook", ["self", "notebook", "contents"]),
    ("marimo._runtime.pytest", "ReplaceStubPlugin", ["defs", "lcls", "global_defs"]),
    ("marimo._runtime.pytest", "_global_scope_defs", []),
]
"""Symbols that are called, with what is passed to them."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_findings_carry_marimos_stable_codes() -> None:
    codes = ["x = 1", "x = 2", "a = b", "b = a"]
    document = apply_edits(Document.new(), [CreateCell(code=code) for code in codes])
    assert not isinstance(document, EditRefused)
    findings = await check(document)
    assert [(finding.code, finding.severity) for finding in findings] == [("MB002", "breaking"), ("MB003", "breaking")]
    assert all(isinstance(finding, LintFinding) and finding.line > 0 for finding in findings)


async def test_a_clean_notebook_has_no_findings() -> None:
    document = apply_edits(Document.new(), [CreateCell(code="x = 1")])
    assert not isinstance(document, EditRefused)
    assert await check(document) == []


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("def test_a(): ...\ndef test_b(x): ...\nclass TestC: ...", ("test_a", "test_b", "TestC")),
        ("async def test_a(): ...", ("test_a",)),
        ("@pytest.fixture\ndef test_data(): ...\ndef test_a(test_data): ...", ("test_a",)),
        ("x = 1\ndef test_a(): ...\ndef test_statistic(values): ...\nclass TestC: ...", ("test_a",)),
        ("def total(): ...", ()),
        ("x = 1", ()),
        ("", ()),
        ("def test_a(:", ()),
    ],
)
def test_tests_are_found_as_marimo_finds_them(code: str, tests: tuple[str, ...]) -> None:
    assert found_in(code) == tests


def test_plain_tests_run_where_there_is_no_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importlib.import_module("sys").modules, "pytest", None)
    names: dict[str, object] = {}
    exec(
        "def test_good(): pass\ndef test_bad(): assert False, 'why'\ndef test_with(x): pass\nclass TestIt: pass\n"
        + code_that_tests("found", ["test_good", "test_bad", "test_with", "TestIt"]),
        names,
    )
    assert names["found"] == [
        {"name": "test_good", "outcome": "passed", "message": ""},
        {"name": "test_bad", "outcome": "failed", "message": "AssertionError: why"},
        {"name": "test_with", "outcome": "needs pytest", "message": "it takes x"},
        {"name": "TestIt", "outcome": "needs pytest", "message": "it is a class"},
    ]


@pytest.mark.parametrize(("module", "name", "parameters"), CONTRACT)
def test_marimo_still_offers_what_is_used_here(module: str, name: str, parameters: list[str]) -> None:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    known = inspect.signature(found).parameters
    assert list(known)[: len(parameters)] == parameters
    unfilled = [one.name for one in known.values() if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    assert set(unfilled) <= set(parameters)


def test_every_symbol_of_marimo_that_is_used_has_its_contract() -> None:
    source = inspect.getsource(importlib.import_module("cellwright.notebook.marimo_check"))
    used = {
        (module, name.strip())
        for module, names in re.findall(r"from (marimo\.[\w.]+) import ([\w, ]+)", source)
        for name in names.split(",")
    }
    listed = {(module, name.partition(".")[0]) for module, name, _ in CONTRACT}
    assert used - listed == {("marimo._lint.diagnostic", "Diagnostic")}


def test_a_finding_has_the_fields_that_are_read() -> None:
    diagnostic = importlib.import_module("marimo._lint.diagnostic").Diagnostic
    assert {"message", "line", "code", "severity"} <= set(inspect.signature(diagnostic).parameters)
