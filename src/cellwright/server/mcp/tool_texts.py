"""What each tool is called, says of itself and takes; the fields are those of the API's own shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cellwright.server.http.schemas.model import RequestModel
from cellwright.server.http.schemas.runs import NewRun, Reason, SayBody

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolText:
    """One tool, as a model reads of it."""

    name: str
    title: str
    says: str
    takes: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    needs: tuple[str, ...] = ()
    changes: bool = False
    """Whether anything is another thing afterwards."""
    is_repeatable: bool = True
    """Whether a second call with the same arguments changes nothing more."""

    @property
    def schema(self) -> Schema:
        """Of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.takes),
            "required": list(self.needs),
            "additionalProperties": False,
        }


def _as_in(shape: type[RequestModel], **says: str) -> dict[str, Schema]:
    """These fields as the API takes them, each with what it is for."""
    schema = shape.model_json_schema()
    known: dict[str, Schema] = _inlined(schema["properties"], schema.get("$defs", {}))
    return {
        name: {key: value for key, value in known[name].items() if key != "title"} | {"description": text}
        for name, text in says.items()
    }


def _inlined(value: Any, parts: Mapping[str, Schema]) -> Any:
    """The schema with each part where it is named: an argument's schema stands alone."""
    if isinstance(value, list):
        return [_inlined(each, parts) for each in value]
    if not isinstance(value, dict):
        return value
    if (name := str(value.get("$ref", "")).removeprefix("#/$defs/")) in parts:
        return _inlined({**parts[name], **{key: each for key, each in value.items() if key != "$ref"}}, parts)
    return {key: _inlined(each, parts) for key, each in value.items()}


_RUN: Final[Schema] = {"type": "string", "description": "The run's name, as start_run or list_runs gave it."}
_NOTEBOOK: Final[Schema] = {
    "type": "string",
    "description": "The notebook's path in the folder, or its id, as list_notebooks gave it.",
}
_KEY: Final = "Any text of yours: another call with the same key does nothing twice."
_CELL: Final[Schema] = {"type": "string", "description": "A cell's id or name."}
_EDITS: Final[Schema] = {
    "type": "array",
    "minItems": 1,
    "maxItems": 200,
    "description": 'For example [{"op": "create", "code": "x = 1", "name": "load"}, '
    '{"op": "edit", "cell": "Hbol", "base_version": 1, "code": "x = 2"}]. A new cell goes to the end unless it '
    "says `after`, `before` or `at`.",
    "items": {
        "type": "object",
        "properties": {
            "op": {"enum": ["create", "edit", "delete", "move", "rename", "configure"]},
            "cell": _CELL,
            "base_version": {
                "type": "integer",
                "description": "The cell's version, as look showed it.",
            },
            "code": {"type": "string"},
            "name": {"type": "string"},
            "after": _CELL,
            "before": _CELL,
            "at": {"enum": ["start", "end"]},
            "config": {"type": "object"},
        },
        "required": ["op"],
    },
}

TOOLS: Final = (
    ToolText(
        name="start_run",
        title="Start a run",
        says="Turn a goal into a checked marimo notebook: planned, built and run from scratch in a sandbox by agents "
        "of its own, then delivered with a report. Returns at once with the run's name; the run goes on whether or "
        "not anybody follows it. Then call follow_run.",
        takes=_as_in(
            NewRun,
            goal="What is wanted, in words.",
            data="Files and folders to work on: paths relative to the folder, or NAME=PATH.",
            connections="Databases, buckets and APIs it may read, by their names.",
            tools="Tool servers its agents may call, by their names: those a person here has named and allowed.",
            context="What its agents are shown of tool servers, `SERVER:address` each.",
            kernels="Kernels of Jupyter its agents may run code in (R, Julia …), by the names installed here.",
            models="`provider:model`; or `analyst`, which needs no model and no key. None: the usual ones.",
            notebook="Extend this notebook, or make it, at this path in the folder; null: a new one.",
            attach="Work in a notebook that is open in somebody's own marimo: its server's address, such as "
            "http://127.0.0.1:2718. A person is asked before each change there; follow_run passes the question on.",
            attach_file="That notebook's file; alone, its server is found.",
            research="The goal is a question answered out of documents, each sentence with the quotes it rests on: "
            '{"sources": ["papers"], "form": "brief"}.',
            extract="Instead of an answer, a table out of documents (PDF, DOCX, HTML, text, e-mails), each value with "
            'the quote that says it: {"fields": "party, date:date, amount:number", "documents": ["papers"]}.',
            is_private="Nothing may leave this machine: local models only.",
            effort="How far it is looked over before it is handed over.",
            budget_usd="What it may cost at most, in USD, as a number in quotes.",
            key="Any text of yours: another call with the same key means the same run and starts none.",
        ),
        needs=("goal",),
        changes=True,
        is_repeatable=False,
    ),
    ToolText(
        name="follow_run",
        title="Follow a run",
        says="What happened in a run since `after`. Waits up to 25 seconds until it is over or asks something; call "
        "it again with the `after` it gives until it says that the run is over. What a run asks, only a person "
        "answers.",
        takes={
            "run": _RUN,
            "after": {"type": "integer", "minimum": 0, "default": 0, "description": "As the last call gave it."},
        },
        needs=("run",),
    ),
    ToolText(
        name="say_to_run",
        title="Say something to a run",
        says="Tell the agents of a run something; they read it before their next step.",
        takes={"run": _RUN, **_as_in(SayBody, text="What they should know.")},
        needs=("run", "text"),
        changes=True,
        is_repeatable=False,
    ),
    ToolText(
        name="stop_run",
        title="Stop a run",
        says="Let a run end before its next step and hand over what there is.",
        takes={"run": _RUN, **_as_in(Reason, reason="Why, for the record.")},
        needs=("run",),
        changes=True,
    ),
    ToolText(
        name="list_runs",
        title="List runs",
        says="Runs, the newest first: names, goals, and how they stand.",
        takes={
            "search": {"type": "string", "maxLength": 200, "description": "Words of the goal, the notebook or the run."}
        },
    ),
    ToolText(
        name="list_notebooks",
        title="List notebooks",
        says="The marimo notebooks in the folder, and those that are open.",
    ),
    ToolText(
        name="look",
        title="Look at a notebook",
        says="A notebook's cells as they stand: code, output, errors, and which are out of date.",
        takes={
            "notebook": {
                "type": "string",
                "description": "The notebook's path in the folder, or its id, as list_notebooks gave it; or the "
                "address of somebody's own marimo (http://127.0.0.1:2718) with one open: nothing is executed there.",
            },
            "file": {"type": "string", "description": "Which file, where such a marimo has several open."},
        },
        needs=("notebook",),
    ),
    ToolText(
        name="run_cells",
        title="Run cells",
        says="Run cells of a notebook in its sandbox, and what depends on them; it is opened if need be. Waits up to "
        "25 seconds; what takes longer goes on.",
        takes={
            "notebook": _NOTEBOOK,
            "cells": {
                "anyOf": [{"enum": ["all", "stale"]}, {"type": "array", "items": {"type": "string"}}],
                "default": "stale",
                "description": "Names or ids of cells; `stale`: those that are out of date.",
            },
        },
        needs=("notebook",),
        changes=True,
        is_repeatable=False,
    ),
    ToolText(
        name="apply",
        title="Edit cells",
        says="Edit cells of a notebook, run what that affects in its sandbox, and save; all edits are made or none. An "
        "edit of a cell names the version that `look` showed and is refused if somebody changed it since. Waits up to "
        "25 seconds; what takes longer goes on.",
        takes={"notebook": _NOTEBOOK, "edits": _EDITS, "key": {"type": "string", "description": _KEY}},
        needs=("notebook", "edits"),
        changes=True,
        is_repeatable=False,
    ),
    ToolText(
        name="undo",
        title="Undo edits",
        says="Take back the last apply to a notebook; cells that somebody changed since stay as they are.",
        takes={"notebook": _NOTEBOOK},
        needs=("notebook",),
        changes=True,
        is_repeatable=False,
    ),
)
