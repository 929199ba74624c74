"""Promises of the product and the tests that keep them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.places import read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One sentence a user may rely on."""

    says: str
    tests: tuple[str, ...]
    """`tests/room/test_x.py::test_name`, or a whole file."""


def read_promises(path: Path) -> list[Promise]:
    """The rows of a promises file."""
    return [Promise(says=row["says"], tests=tuple(row["tests"])) for row in read_toml(path)["promise"]]


def find_tests(root: Path) -> set[str]:
    """Every test under `root/tests`, found by reading, not by running; parametrised ones without their brackets."""
    return {
        f"{path.relative_to(root).as_posix()}::{name}"
        for path in (root / "tests").rglob("test_*.py")
        for name in _names(ast.parse(path.read_text(encoding="utf-8")))
    }


def broken(promises: list[Promise], ids: set[str]) -> list[str]:
    """Both directions: promises nobody tests, tests that are not there, test files that keep no promise."""
    files = {test.partition("::")[0] for test in ids}
    kept = {test.partition("::")[0] for promise in promises for test in promise.tests}
    said = [promise.says for promise in promises]
    return [
        *(f"said twice: {says}" for says in sorted({says for says in said if said.count(says) > 1})),
        *(f"no test: {promise.says}" for promise in promises if not promise.tests),
        *(f"no such test: {test}" for promise in promises for test in promise.tests if test not in ids | files),
        *(f"keeps no promise: {file}" for file in sorted(files - kept)),
    ]


def _names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield name
            case _:
                pass
