"""What a workflow can do: the durable verbs, each of them one recorded step.

A workflow's code runs again from the top after a crash; its finished steps answer from the record. So everything that
may differ between two runs of the code — the clock, chance, the world — belongs inside a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, overload

import anyio

from cellwright.errors import Defect
from cellwright.journal.effects import Effect
from cellwright.journal.events import Event, Recorded
from cellwright.journal.names import RunId, run_of
from cellwright.journal.questions import Question
from cellwright.journal.values import Json, from_json, to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """At most `limit` starts in any `seconds`."""

    limit: int
    seconds: float


T = TypeVar("T")
Work = Callable[[], Awaitable[Any]]
Body = Callable[["Flow", Any], Awaitable[Any]]
"""A workflow's code: takes its flow and a JSON argument, gives JSON back."""
Read = Callable[[str], AsyncGenerator[Recorded]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """Code that can be run durably, under a name that outlives the process."""

    name: str
    body: Body


class Steps(Protocol):
    """How steps are made durable."""

    async def step(self, name: str, work: Work, effect: Effect | None) -> Json:
        """Do the work unless its result is kept."""

    async def child(self, workflow_id: str, name: str, argument: Json) -> Json:
        """Run another workflow inside this one."""

    async def ask(self, question: Question) -> Any:
        """Ask a person unless the answer is kept."""

    async def sleep(self, seconds: float) -> None:
        """Wait until a time that is kept."""

    async def tell(self, events: Sequence[Event]) -> None:
        """Append the events to the run's stream unless that is done."""


_PARALLEL_VERBS: ContextVar[list[str] | None] = ContextVar("cellwright_lane", default=None)
"""What this branch of a parallel section has done so far."""


class Flow:
    """The journal as seen from inside a workflow."""

    def __init__(self, steps: Steps, workflow_id: str, read: Read) -> None:
        self.id: Final = workflow_id
        self.read: Final = read
        """Every event a stream has now. What it has differs from time to time: read inside a step."""
        self._steps = steps
        self._children = 0
        self._busy_with: str | None = None
        self._is_parallel = False

    @property
    def run(self) -> RunId:
        """The top-level run this belongs to."""
        return run_of(self.id)

    @overload
    async def step(
        self, name: str, work: Callable[[], Awaitable[Any]], *, returns: type[T], effect: Effect | None = None
    ) -> T: ...
    @overload
    async def step(
        self, name: str, work: Callable[[], Awaitable[T]], *, returns: None = None, effect: Effect | None = None
    ) -> T: ...
    async def step(
        self, name: str, work: Work, *, returns: type[Any] | None = None, effect: Effect | None = None
    ) -> Any:
        """Do the work and keep its result; the next time, only the result.

        The result is JSON, or of the type `returns` (a dataclass, a pydantic model …). With an `effect`, the work
        happens once. An error is kept too: one of our tree comes back as it was, any other as `StepFailed`.
        """

        async def as_json() -> Json:
            return to_json(await work(), returns)

        with self._doing(f"step {name!r}"):
            return from_json(await self._steps.step(name, as_json, effect), returns)

    def next_child(self, name: str, ahead: int = 0) -> str:
        """The name the next workflow inside this one, or the one so many after it, will have, if it is one of these."""
        return f"{self.id}/{name}:{self._children + 1 + ahead}"

    async def child(self, name: str, argument: object = None, *, returns: type[T] | None = None) -> T | Any:
        """Run another workflow inside this one and wait for its result; its steps are its own."""
        with self._doing(f"child {name!r}"):
            child_id = self.next_child(name)
            self._children += 1
            return from_json(await self._steps.child(child_id, name, to_json(argument, None)), returns)

    async def ask(self, question: Question) -> Any:
        """The answer of a person, however long it takes; nothing but memory for one task is used meanwhile."""
        with self._doing("a question"):
            return await self._steps.ask(question)

    async def sleep(self, seconds: float) -> None:
        """Wait; after a crash only for what is left."""
        with self._doing("sleep"):
            await self._steps.sleep(seconds)

    async def tell(self, *events: Event) -> None:
        """Append events to the run's stream: one step, recorded in their transaction, so neither lost nor doubled."""
        with self._doing("telling"):
            await self._steps.tell(events)

    async def parallel(self, *branches: Coroutine[Any, Any, Any], at_once: int | None = None) -> list[Any]:
        """Do several verbs at the same time: `await flow.parallel(flow.step(…), flow.child(…))`.

        Every branch is one verb; a longer one is a child workflow. All branches come to their end; then the first error
        in order is raised. `at_once`: so many at most; the next begins when any of them ends. They begin in their
        order in any case, and a verb takes its numbers when it begins: whichever ends first, a replay has the same.
        """
        if self._is_parallel or self._busy_with is not None:
            for branch in branches:
                branch.close()
            raise Defect(f"A parallel section inside {self._busy_with or 'a parallel section'}.", hint=_ONE_AT_A_TIME)
        results: list[Any] = [None] * len(branches)
        errors: dict[int, BaseException] = {}
        self._is_parallel = True
        places, waiting = anyio.CapacityLimiter(at_once or max(1, len(branches))), deque(branches)
        try:
            async with anyio.create_task_group() as tasks:
                for number in range(len(branches)):
                    await places.acquire_on_behalf_of(number)
                    tasks.start_soon(_run_parallel, waiting.popleft(), number, places, results, errors)
        finally:
            self._is_parallel = False
            for branch in waiting:
                branch.close()
        if errors:
            raise errors[min(errors)]
        return results

    @contextmanager
    def _doing(self, what: str) -> Generator[None]:
        """Steps are numbered in the order they begin, so two at once would be numbered by chance."""
        branch = _PARALLEL_VERBS.get() if self._is_parallel else None
        if branch is not None:
            if branch:
                raise Defect(f"A parallel branch did {branch[0]} and then {what}.", hint=_ONE_AT_A_TIME)
            branch.append(what)
            yield
            return
        if self._is_parallel or self._busy_with is not None:
            raise Defect(
                f"{what} was begun while {self._busy_with or 'a parallel section'} goes on.", hint=_ONE_AT_A_TIME
            )
        self._busy_with = what
        try:
            yield
        finally:
            self._busy_with = None


_ONE_AT_A_TIME: Final = "Use `flow.parallel(flow.step(…), …)`, and make a branch of several steps a child workflow."


async def _run_parallel(
    branch: Coroutine[Any, Any, Any],
    number: int,
    places: anyio.CapacityLimiter,
    results: list[Any],
    errors: dict[int, BaseException],
) -> None:
    _PARALLEL_VERBS.set([])
    try:
        results[number] = await branch
    except anyio.get_cancelled_exc_class():
        raise
    except BaseException as error:  # noqa: BLE001 - the engine's own signals are no Exceptions; all are raised again
        errors[number] = error
    finally:
        places.release_on_behalf_of(number)
