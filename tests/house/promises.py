"""Promises of the product and the tests that keep them."""

from __future__ import annotations

import ast
import functools
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
    return set(_tests(root))


def find_fast(root: Path) -> set[str]:
    """Those of them that `make test` runs: neither they nor their whole file are marked slow."""
    return {test for test, is_slow in _tests(root).items() if not is_slow}


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


def only_slow(promises: list[Promise], fast: set[str]) -> list[Promise]:
    """What no test of `make test` keeps."""
    kept = fast | {test.partition("::")[0] for test in fast}
    return [promise for promise in promises if not kept.intersection(promise.tests)]


@functools.cache
def _tests(root: Path) -> dict[str, bool]:
    return {
        f"{path.relative_to(root).as_posix()}::{name}": is_slow
        for path in (root / "tests").rglob("test_*.py")
        for name, is_slow in _names(ast.parse(path.read_text(encoding="utf-8")))
    }


def _names(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Each test and whether it is slow; `pytestmark` speaks for a whole file."""
    is_file_slow = any(
        isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark" and _is_slow(node.value)
        for node in tree.body
    )
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield name, is_file_slow or any(map(_is_slow, node.decorator_list))
            case _:
                pass


def _is_slow(mark: ast.expr) -> bool:
    """A mark for all cases, not one for some of them: those stand inside a call of `parametrize`."""
    match mark:
        case ast.Attribute(attr="slow"):
            return True
        case ast.List(elts=marks) | ast.Tuple(elts=marks):
            return any(map(_is_slow, marks))
        case _:
            return False
