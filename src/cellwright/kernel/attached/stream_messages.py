"""What a marimo session tells its pages, decoded into types of ours: hostile, so all of it is bounded.

Only the messages that say something about cells are read; every other is left out, whatever it holds.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

SCRATCH: Final = "__scratch__"
"""Under this id the session tells of what an execution of ours prints; it is no cell of the notebook."""


class ConfigWire(msgspec.Struct):
    """A cell's configuration."""

    column: int | None = None
    disabled: bool = False
    hide_code: bool = False
    expand_output: bool = False


class KernelReady(msgspec.Struct, tag_field="op", tag="kernel-ready"):
    """All cells, as a page gets them when it opens."""

    cell_ids: list[str]
    codes: list[str]
    names: list[str]
    configs: list[ConfigWire]
    last_execution_time: dict[str, float] = {}
    """Milliseconds, of each cell that ran."""


class CreateChange(msgspec.Struct, tag_field="type", tag="create-cell", rename="camel"):
    """A cell is new."""

    cell_id: str
    code: str = ""
    name: str = ""
    config: ConfigWire = msgspec.field(default_factory=ConfigWire)
    before: str | None = None
    after: str | None = None


class DeleteChange(msgspec.Struct, tag_field="type", tag="delete-cell", rename="camel"):
    """A cell is gone."""

    cell_id: str


class MoveChange(msgspec.Struct, tag_field="type", tag="move-cell", rename="camel"):
    """A cell is elsewhere."""

    cell_id: str
    before: str | None = None
    after: str | None = None


class ReorderChange(msgspec.Struct, tag_field="type", tag="reorder-cells", rename="camel"):
    """The order of all cells."""

    cell_ids: list[str]


class CodeChange(msgspec.Struct, tag_field="type", tag="set-code", rename="camel"):
    """A cell has other code."""

    cell_id: str
    code: str


class NameChange(msgspec.Struct, tag_field="type", tag="set-name", rename="camel"):
    """A cell has another name."""

    cell_id: str
    name: str


class ConfigChange(msgspec.Struct, tag_field="type", tag="set-config", rename="camel"):
    """A cell is configured otherwise."""

    cell_id: str
    column: int | None = None
    disabled: bool | None = None
    hide_code: bool | None = None
    expand_output: bool | None = None


Change = CreateChange | DeleteChange | MoveChange | ReorderChange | CodeChange | NameChange | ConfigChange


class TransactionWire(msgspec.Struct):
    """Changes that were made together."""

    changes: list[Change]
    source: str = ""
    """`frontend`: a person's page made them."""


class DocumentChanged(msgspec.Struct, tag_field="op", tag="notebook-document-transaction"):
    """Somebody changed cells."""

    transaction: TransactionWire


class OutputWire(msgspec.Struct):
    """What a cell shows or prints."""

    channel: str = ""
    mimetype: str = ""
    data: Any = None


class CellTold(msgspec.Struct, tag_field="op", tag="cell-op"):
    """What became of a cell; what is missing is as it was."""

    cell_id: str
    output: OutputWire | None = None
    console: OutputWire | list[OutputWire] | None = None
    status: str | None = None
    stale_inputs: bool | None = None
    run_id: str | None = None
    timestamp: float = 0.0


class ExecutionTold(msgspec.Struct, tag_field="op", tag="execution"):
    """A cell is going to run, runs, or has run."""

    cell_id: str
    phase: str
    run_id: str | None = None
    code: str | None = None


class RunCompleted(msgspec.Struct, tag_field="op", tag="completed-run"):
    """Everything that one request led to is over."""

    run_id: str | None = None


class DeclaredWire(msgspec.Struct):
    """Which cells define a name."""

    name: str
    declared_by: list[str] = []


class NamesTold(msgspec.Struct, tag_field="op", tag="variables"):
    """The names of the whole notebook."""

    variables: list[DeclaredWire]


class ValueWire(msgspec.Struct):
    """A value as text, cut by marimo."""

    name: str
    value: str | None = None
    datatype: str | None = None


class ValuesTold(msgspec.Struct, tag_field="op", tag="variable-values"):
    """Values that are new."""

    variables: list[ValueWire]


class CompletionTold(msgspec.Struct, tag_field="op", tag="completion-result"):
    """Somebody is typing: their page asked how a word could go on."""


Told = KernelReady | DocumentChanged | CellTold | ExecutionTold | RunCompleted | NamesTold | ValuesTold | CompletionTold


class _Frame(msgspec.Struct):
    op: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")


_FRAME: Final = msgspec.json.Decoder(_Frame)
_TOLD: Final = msgspec.json.Decoder(Told)
_OPS: Final = frozenset(
    {
        *("kernel-ready", "notebook-document-transaction", "cell-op", "execution"),
        *("completed-run", "variables", "variable-values", "completion-result"),
    }
)


def decode(frame: str | bytes) -> Told | None:
    """The message, or None for one of no interest and for one that cannot be read."""
    try:
        outer = _FRAME.decode(frame)
        return _TOLD.decode(outer.data) if outer.op in _OPS else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
