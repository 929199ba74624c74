"""Turns an attack function into one self-contained source text: the targets, what it needs, and the call.

Only the definitions the function reaches are taken along, so a failing cell shows the attack and little else.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

PROGRAMS: Final = Path(__file__).parent / "programs"


def compose(module: str, function: str, targets: dict[str, Any]) -> str:
    """The program to run, caged or not: plain source whose last output line is its verdict."""
    return f"TARGETS = {targets!r}\n{body(module, function)}\nrun_attack({function}, TARGETS)\n"


@cache
def body(module: str, function: str) -> str:
    """The attack, everything it reaches, and the imports of both files."""
    statements = _statements("prelude") + _statements(module)
    wanted = _reached({"run_attack", function}, [node for node, _ in statements])
    return "".join(text for node, text in statements if _defines(node) & wanted)


@cache
def needs(module: str, function: str) -> frozenset[str]:
    """The targets the program asks for."""
    return frozenset(re.findall(r'targets\["(\w+)"\]', body(module, function).replace("'", '"')))


@cache
def _statements(module: str) -> list[tuple[ast.stmt, str]]:
    """The top-level statements of a file, each with its text."""
    text = (PROGRAMS / f"{module}.py").read_text("utf-8")
    lines = text.splitlines(keepends=True)
    return [(node, "".join(lines[node.lineno - 1 : node.end_lineno])) for node in ast.parse(text).body]


def _reached(start: set[str], nodes: list[ast.stmt]) -> set[str]:
    definitions = {name: node for node in nodes for name in _defines(node)}
    reached: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in definitions:
            continue
        reached.add(name)
        waiting += [part.id for part in ast.walk(definitions[name]) if isinstance(part, ast.Name)]
        waiting += _quoted_names(definitions[name])
    return reached


def _quoted_names(node: ast.stmt) -> list[str]:
    """Names inside annotations written as text."""
    texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return [name for text in texts for name in re.findall(r"\b\w+\b", text) if len(text) < 60]


def _defines(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name):
            return {name}
        case ast.Import(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.ImportFrom(level=0, names=names):
            return {alias.asname or alias.name for alias in names}
        case ast.Assign(targets=places):
            return {part.id for place in places for part in ast.walk(place) if isinstance(part, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()
