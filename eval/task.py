"""Tasks: a goal, its data, and what an answer must hold."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from eval.checks import Check, read_check
from eval.delivered import Delivered

Kind = Literal[
    "cleaning", "joins", "statistics", "time series", "plots", "sql", "text", "modelling", "folders", "formats"
]
TASKS: Final = Path(__file__).parent / "tasks"
_KEYS: Final = frozenset({"kind", "goal", "data", "is_for_analyst", "analyst_misses", "checks"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of `eval/tasks/`."""

    id: str
    kind: Kind
    goal: str
    data: tuple[str, ...]
    """Files and folders the goal is about, as `make` names them."""
    checks: tuple[Check, ...]
    is_for_analyst: bool = False
    """The analyst, which asks no model, can serve it."""
    analyst_misses: str = ""
    """Why it does not do so yet; empty: it does."""
    make: Callable[[Path], None]
    """Writes the data into a folder, the same bytes each time."""
    right: Callable[[Path], Delivered]
    """A reference solution, worked out from the data; the checks accept it."""
    wrong: Callable[[Path], Delivered]
    """What falls for the trap; the checks refuse it."""


def read_tasks(names: Sequence[str] = ()) -> list[Task]:
    """All tasks in order of their names, or those named. `ValueError` says what is wrong with one."""
    known = sorted(path.parent.name for path in TASKS.glob("*/task.toml"))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"No task named {unknown[0]!r}. Known: {', '.join(known)}.")
    return [_read(name) for name in names or known]


def _read(name: str) -> Task:
    told = tomllib.loads((TASKS / name / "task.toml").read_text(encoding="utf-8"))
    if unknown := set(told) - _KEYS:
        raise ValueError(f"{name}: unknown {', '.join(sorted(unknown))}")
    if told["kind"] not in get_args(Kind):
        raise ValueError(f"{name}: no kind {told['kind']!r}")
    module: Any = importlib.import_module(f"eval.tasks.{name}.task")
    return Task(
        id=name,
        kind=cast(Kind, told["kind"]),
        goal=" ".join(str(told["goal"]).split()),
        data=tuple(told["data"]),
        checks=tuple(read_check(check) for check in told["checks"]),
        is_for_analyst=bool(told.get("is_for_analyst", False)),
        analyst_misses=str(told.get("analyst_misses", "")),
        make=module.make,
        right=module.right,
        wrong=module.wrong,
    )
