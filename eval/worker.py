"""Whoever works on a task, and what came of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eval.delivered import Delivered
from eval.task import Task
from eval.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a worker made of a task, and what it took."""

    delivered: Delivered
    status: str
    """In the worker's own word: `done`, `failed`."""
    why: str = ""
    """What ended it, unless it is done."""
    seconds: float = 0.0
    tokens: int = 0
    microdollars: int | None = 0
    """None: nobody knows the price."""
    requests: int | None = None
    """To the model; None: nobody counted them."""
    characters: int | None = None
    """Of their bodies; only a replay sees them."""
    frozen: Traffic | None = None
    """What a recorded path took when it was frozen."""
    reviewed: Traffic | None = None
    """What asking a reviewer took, which is not among the others; only a replay counts it apart."""
    excess: tuple[str, ...] = ()
    """Where that is more than its share."""


class Worker(Protocol):
    """Somebody who can be given a task."""

    @property
    def name(self) -> str:
        """As the table says it."""
        ...

    async def work(self, task: Task, folder: Path) -> Came:
        """What it makes of the task, whose data is in the folder; the folder is its own to write in."""
        ...


def nothing(status: str, why: str, *, seconds: float, is_data_untouched: bool = True) -> Came:
    """Nothing was handed over."""
    delivered = Delivered(answer="", has_notebook=False, is_proven=False, is_data_untouched=is_data_untouched)
    return Came(delivered=delivered, status=status, why=why, seconds=seconds)


def print_of(folder: Path, names: tuple[str, ...]) -> str:
    """A fingerprint of data, file by file, so that a change shows."""
    digest = hashlib.sha256()
    for name in names:
        root = folder / name
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(folder)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
