"""Every scenario, in the order they are run. To add one: a module with `async def measure(stage)`, and a line here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench import agents, journal, models, recovery, runs, runs_at_once
from bench.rows import Finding
from bench.scenarios import (
    action_program,
    asked_models,
    branches,
    control_room,
    data_choice,
    data_connections,
    fan_out,
    first_run,
    fresh_kernel,
    kept_files,
    kernel_memory,
    mcp_listed,
    notebook_commands,
    preview,
    profile,
    rerun_among_many,
    round_trip,
)
from bench.stage import Stage

Scenario = Callable[[Stage], Awaitable[list[Finding]]]

SCENARIOS: dict[str, Scenario] = {
    "fresh-kernel": fresh_kernel.measure,
    "kernel-memory": kernel_memory.measure,
    "round-trip": round_trip.measure,
    "rerun-among-many": rerun_among_many.measure,
    "fan-out": fan_out.measure,
    "preview": preview.measure,
    "profile": profile.measure,
    "kept-files": kept_files.measure,
    "action-program": action_program.measure,
    "branch-ready": branches.ready,
    "branch-rerun": branches.reruns,
    "branch-memory": branches.idle_memory,
    "journal-append": journal.append,
    "journal-step": journal.step,
    "journal-follow": journal.follow,
    "journal-waiting": journal.waiting,
    "journal-recovery": recovery.recovery,
    "models-call": models.call,
    "models-token": models.token,
    "models-streams": models.streams,
    "models-gateway": models.gateway,
    "models-import": models.imports,
    "models-memory": models.memory,
    "agents-step": agents.step,
    "agents-context": agents.context,
    "agents-turns": agents.turns,
    "runs-first-event": runs.first_event,
    "runs-overhead": runs.overhead,
    "runs-at-once": runs_at_once.measure,
    "runs-asked": asked_models.measure,
    "notebook-verify": notebook_commands.verify,
    "notebook-run": notebook_commands.run,
    "data-choice": data_choice.measure,
    "data-query": data_connections.query,
    "data-large": data_connections.large,
    "data-first": data_connections.first,
    "mcp-listed": mcp_listed.measure,
    "room-followers": control_room.followers,
    "room-paint": control_room.first_paint,
    "room-memory": control_room.idle_memory,
    "first-run": first_run.measure,
}

ONLY_WHEN_NAMED = frozenset({"first-run"})
"""They take many minutes, and fetch everything anew."""
