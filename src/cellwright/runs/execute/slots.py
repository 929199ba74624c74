"""Turns: which runs go on now, when there are more than a machine can carry. Decided purely; waiting costs nothing.

Fair between people, then by priority, then first come. Two runs never work on one notebook at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from cellwright.runs.goal.goal import Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLimits:
    """How many runs go on at once; those that wait for a person do not count."""

    at_once: int = 50
    per_person: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRequest:
    """A run that wants to go on, or does."""

    run: str
    person: str
    notebook: str
    priority: int = 0
    came: int = 0
    """The how-manieth it was."""


def next_slots(
    waiting: Sequence[SlotRequest], going: Sequence[SlotRequest], idle: Collection[str], limits: SlotLimits
) -> tuple[int, ...]:
    """The entries that may begin now, by how they came. `idle`: those among the going that wait for a person."""
    busy = Counter(entry.person for entry in going if entry.run not in idle)
    notebooks = {entry.notebook for entry in going}
    left = list(waiting)
    chosen: list[int] = []
    while left and sum(busy.values()) < limits.at_once:
        able = [each for each in left if each.notebook not in notebooks and busy[each.person] < limits.per_person]
        if not able:
            break
        first = min(able, key=lambda each: (busy[each.person], -each.priority, each.came))
        left.remove(first)
        chosen.append(first.came)
        busy[first.person] += 1
        notebooks.add(first.notebook)
    return tuple(chosen)


def why_it_waits(entry: SlotRequest, going: Sequence[SlotRequest], limits: SlotLimits) -> str:
    """For the person who watches."""
    if other := next((each for each in going if each.notebook == entry.notebook), None):
        return f"The run {other.run} works on this notebook; two at once would undo each other. It begins after that."
    if sum(each.person == entry.person for each in going) >= limits.per_person:
        return f"{limits.per_person} runs of {entry.person} go on already. It begins when one of them ends."
    return f"{len(going)} runs go on already. It begins when its turn comes."


ExplainWait = Callable[[str, str], Awaitable[None]]
"""Tells whoever watches a run why it waits."""
FindIdle = Callable[[], Awaitable[Collection[str]]]
"""The runs that wait for a person."""


class RunSlots:
    """The runs of one process, and whose turn it is."""

    def __init__(self, limits: SlotLimits, *, note: ExplainWait, idle: FindIdle) -> None:
        self._limits = limits
        self._note = note
        self._idle = idle
        self._waiting: dict[int, tuple[SlotRequest, anyio.Event]] = {}
        self._going: dict[int, SlotRequest] = {}
        """Both by how they came: a run that was cancelled and resumed may be here twice for a moment."""
        self._came = 0

    @asynccontextmanager
    async def take(self, run: str, goal: Goal) -> AsyncGenerator[None]:
        """Wait for the run's turn; it is its turn until the block ends."""
        self._came += 1
        entry = SlotRequest(
            run=run, person=goal.person, notebook=goal.notebook, priority=goal.priority, came=self._came
        )
        turn = anyio.Event()
        self._waiting[entry.came] = (entry, turn)
        try:
            await self.look_again()
            if not turn.is_set():
                await self._note(run, why_it_waits(entry, list(self._going.values()), self._limits))
            await turn.wait()
            yield
        finally:
            self._waiting.pop(entry.came, None)
            self._going.pop(entry.came, None)
            with anyio.CancelScope(shield=True):
                await self.look_again()

    async def look_again(self) -> None:
        """Let those begin whose turn has come: somebody came, ended, or began to wait for a person."""
        if not self._waiting:
            return
        idle = await self._idle() if self._going else ()
        waiting = [entry for entry, _ in self._waiting.values()]
        for came in next_slots(waiting, list(self._going.values()), idle, self._limits):
            entry, turn = self._waiting.pop(came)
            self._going[came] = entry
            turn.set()
