"""LangGraph: one graph node after another, each checkpointed by `SqliteSaver` before the next begins.

A run is a loop over one node, like the `for` over a step that it is compared with. A step is timed from one entry of
the node to the next: its work, its writes, its checkpoint (`durability="sync"`) and what comes next. So neither
compiling the graph nor what a run costs at its beginning and end is in the figure. The file is set as ours is: WAL,
synchronous=NORMAL. The plain function and saver are LangGraph's fastest: its async pair takes a quarter more.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from itertools import pairwise
from typing import Any, TypedDict

from bench.peers.conversation import Answer, converse


class State(TypedDict):
    """What a checkpoint holds: the step's result, and how many steps are left."""

    value: int
    left: int


class LanggraphSteps:
    """One compiled graph on one file; every run is a thread of its own."""

    def __init__(self) -> None:
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import START, StateGraph

        # It takes turns with a lock of its own.
        self._file = sqlite3.connect("langgraph.db", check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        graph: Any = StateGraph(State)
        graph.add_node("nothing", self._nothing)
        graph.add_edge(START, "nothing")
        self._graph: Any = graph.compile(checkpointer=SqliteSaver(self._file))
        self._entered: list[float] = []
        self._runs = 0

    async def run(self, steps: int) -> Answer:
        """Milliseconds of each of this many steps."""
        self._runs += 1
        thread = f"run-{self._runs}"
        # One more than asked for: the last has no next entry that would end it.
        state = self._graph.invoke(
            {"value": 0, "left": steps},
            {"configurable": {"thread_id": thread}, "recursion_limit": steps + 2},
            durability="sync",
        )
        entered, self._entered = self._entered, []
        took = [(end - begin) * 1e3 for begin, end in pairwise(entered)]
        self._expect_all_kept(thread, steps, state, took)
        return {"steps_ms": took}

    def _nothing(self, state: State) -> Any:
        from langgraph.graph import END
        from langgraph.types import Command

        self._entered.append(time.perf_counter())
        left = state["left"]
        return Command(update={"value": 7, "left": left - 1}, goto="nothing" if left else END)

    def _expect_all_kept(self, thread: str, steps: int, state: State, took: list[float]) -> None:
        """Every step has its checkpoint, besides that of the input and that of what the run began with."""
        (kept,) = self._file.execute("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (thread,)).fetchone()
        settings = [self._file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        if state != {"value": 7, "left": -1} or len(took) != steps or kept != steps + 3 or settings != ["wal", 1]:
            raise RuntimeError(f"{len(took)} steps, {kept} checkpoints, {settings}, {state}")


async def main() -> None:
    """Answer the bench."""
    await converse({"run": LanggraphSteps().run})


if __name__ == "__main__":
    asyncio.run(main())
