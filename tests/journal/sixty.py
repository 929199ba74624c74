"""A run of sixty steps, for tests that kill it: nested three deep, loops, parallel sections, effects, a question.

Every piece of work leaves a line in `work.txt`, every change of the world one in `world.txt`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from cellwright.journal.crash import CrashPoint, crash_at
from cellwright.journal.effects import AGAIN, HAPPENED, IN_DOUBT, Effect
from cellwright.journal.events import Fact
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import Question

RUN = "sixty"
KEY = b"k" * 32
STEPS = 60
EFFECTS = 9
FACTS = 9
"""What the run tells of its own accord: two in each of four inner workflows, one at the top."""
DID = "did"


def leave(path: Path, line: str) -> None:
    """One line, written at once or not at all."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class World:
    """What the steps do."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work.txt"
        self.world = folder / "world.txt"

    def add(self, flow: Flow, name: str, number: int) -> Callable[[], Awaitable[int]]:
        async def work() -> int:
            leave(self.work, f"{flow.id} {name}")
            await anyio.lowlevel.checkpoint()
            return number

        return work

    def pay(self, flow: Flow, name: str) -> Callable[[], Awaitable[dict[str, str]]]:
        async def work() -> dict[str, str]:
            leave(self.work, f"{flow.id} {name}")
            leave(self.world, f"{flow.id} {name}")
            return {"paid": f"{flow.id} {name}"}

        return work


def workflows(world: World) -> list[Workflow]:
    async def inner(flow: Flow, argument: Any) -> list[Any]:
        """5 steps, one of them an effect."""
        total = argument["start"]
        for number in range(4):
            total += await flow.step(f"inner-{number}", world.add(flow, f"inner-{number}", number))
        await flow.tell(Fact(topic=DID, subject=f"{flow.id} sum"), Fact(topic=DID, subject=f"{flow.id} pay next"))
        paid = await flow.step("inner-pay", world.pay(flow, "inner-pay"), effect=Effect(key=f"{flow.id}:pay"))
        return [total, paid["paid"]]

    async def middle(flow: Flow, argument: Any) -> list[Any]:
        """3 + 3 + 2 x 5 = 16 steps."""
        results: list[Any] = []
        for number in range(3):
            results.append(await flow.step(f"middle-{number}", world.add(flow, f"middle-{number}", number)))
        results += await flow.parallel(
            flow.step("side-0", world.add(flow, "side-0", 10)),
            flow.step("side-1", world.pay(flow, "side-1"), effect=Effect(key=f"{flow.id}:side")),
            flow.step("side-2", world.add(flow, "side-2", 30)),
        )
        for number in range(2):
            results.append(await flow.child("inner", {"start": argument["n"] * 100 + number}))
        return results

    async def top(flow: Flow, _: Any) -> list[Any]:
        """10 + 2 x 16 + 18 = 60 steps, the question and the large result among them."""
        results: list[Any] = []
        level = 0
        while level < 10:
            level += await flow.step(f"climb-{level}", world.add(flow, f"climb-{level}", 1))
        results.append(level)
        results += await flow.parallel(flow.child("middle", {"n": 1}), flow.child("middle", {"n": 2}))
        answer = await flow.ask(Question(text="Go on?", choices=("go", "stop")))
        if answer == "go":
            for number in range(14):
                results.append(await flow.step(f"tail-{number}", world.add(flow, f"tail-{number}", number)))
        large = await flow.step("large", large_work(flow))
        results.append(len(large))
        await flow.tell(Fact(topic=DID, subject=f"{flow.id} large"))
        for number in range(3):
            effect = Effect(key=f"{flow.id}:{number}")
            results.append(await flow.step(f"pay-{number}", world.pay(flow, f"pay-{number}"), effect=effect))
        await flow.sleep(0.01)
        return results

    def large_work(flow: Flow) -> Callable[[], Awaitable[str]]:
        async def work() -> str:
            leave(world.work, f"{flow.id} large")
            return "x" * 200_000

        return work

    return [Workflow(name=body.__name__, body=body) for body in (top, middle, inner)]


async def answer_as_a_person_would(journal: Journal, world: World) -> None:
    """Says go, and tells the truth about what happened."""
    while True:
        for asked in await journal.records.questions.pending():
            if asked.question.topic == IN_DOUBT:
                body: Any = asked.question.body
                done = f"{asked.workflow} {body['step']}"
                happened = done in lines(world.world)
                answer = {"choice": HAPPENED, "result": {"paid": done}} if happened else {"choice": AGAIN}
                await journal.answer(asked.id, answer, by="person")
            else:
                await journal.answer(asked.id, "go", by="person")
        with anyio.move_on_after(0.1):
            await journal.log.growth.next().wait()


async def main(where: str, folder: str, point: str = "", visit: str = "1", *more: str) -> None:
    """Start or go on with the run, and die where told. Writes `result.json` and how often each point was visited."""
    world = World(Path(folder))
    visits: Counter[str] = Counter()
    kill = crash_at(CrashPoint(point), int(visit)) if point else None

    def at(reached: CrashPoint) -> None:
        visits[reached] += 1
        if kill is not None:
            kill(reached)

    options: dict[str, Any] = {"lease_seconds": float(more[0])} if more else {}
    async with Journal.open(
        where, version="1", workflows=workflows(world), chain_key=KEY, at_crash_point=at, **options
    ) as journal:
        leave(Path(folder) / "up.txt", str(os.getpid()))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_as_a_person_would, journal, world)
            await journal.run("top", run=RUN)
            with anyio.fail_after(120):
                result = await journal.result(RUN)
                tell = json.dumps({"result": result, "visits": visits})
                await anyio.Path(folder, "result.json").write_text(tell)
            tasks.cancel_scope.cancel()


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
