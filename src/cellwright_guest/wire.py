"""What host and guest say to each other: one frame format, two channels, one tagged union each way.

A frame is a 4-byte little-endian length, one channel byte, and a body. Channel `TYPED` carries a msgpack-encoded
`FromHost` or `FromGuest`; channel `MARIMO` carries marimo's own commands and notifications as opaque bytes.
Nothing here is ever pickled, and the host trusts nothing it reads: it decodes into these types or ends the kernel.
"""

from __future__ import annotations

import struct
from typing import Final, Literal

import msgspec

from cellwright_guest import answer_wire, host_wire, report_wire, transfer_wire
from cellwright_guest.report_wire import CellError, CellReport, FunctionSpec, HazardFacts, Value, Variable

TYPED: Final = 0
MARIMO: Final = 1
HEADER: Final = struct.Struct("<IB")
MAX_FRAME_BYTES: Final = 16 << 20
"""Limit of the size of a frame; a peer that sends a larger one is broken."""


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    pass


class _Request(_Message, frozen=True, kw_only=True):
    """Has the number of the request it is about."""

    request: int


# ── host → guest ──


class CellCode(msgspec.Struct, frozen=True, kw_only=True):
    """One cell as the kernel should know it."""

    cell: str
    code: str
    disabled: bool = False


class Bind(_Message, frozen=True, kw_only=True):
    """First frame: which notebook this kernel now is."""

    filename: str
    """Absolute path inside the cage."""
    threads: int
    """BLAS threads to restore."""
    app_config: dict[str, str | bool | int | float | list[str] | None] = {}
    console_bytes: int = 1 << 20
    """What one cell may print before the rest is dropped and counted."""
    output_bytes: int = 4 << 20
    """Largest rich output that is sent whole."""
    output_tokens: int = 1_000
    preview_tokens: int = 200
    """Bound for each variable's preview."""


class Apply(_Request, frozen=True, kw_only=True):
    """Make the kernel's cells these, then run `run` and whatever follows from it."""

    upsert: list[CellCode] = []
    """Cells that are new or changed (code or configuration)."""
    delete: list[str] = []
    run: list[str] = []
    """Cells to run even if unchanged; their stale ancestors and their dependents follow."""
    reactive: bool = True
    """False: dependents of what changed become stale instead of running."""
    pause_after_ms: float | None = None
    """Ask with `BeforeCell` before a cell, when others ran for so long since the last time; None: never."""


class GoOn(_Request, frozen=True, kw_only=True):
    """Answer to `BeforeCell`: run it now."""

    asks_again: bool = True
    """False: no more pauses in this request."""


class SetUi(_Request, frozen=True, kw_only=True):
    """Set `mo.ui` elements by the global names that hold them, as a person would in the browser."""

    values: dict[str, msgspec.Raw]
    """Name → msgpack-encoded frontend value."""


class Look(_Request, frozen=True, kw_only=True):
    """Previews of named variables (all of the notebook's, when empty)."""

    names: list[str] = []
    tokens: int = 200


class RunProgram(_Request, frozen=True, kw_only=True):
    """Run a program beside the notebook: the same files and limits, nothing of its variables."""

    command: list[str]
    """The program and its arguments; no shell reads them."""
    folder: str = ""
    """Absolute path inside the cage; empty: the notebook's own."""
    seconds: float = 60.0
    output_bytes: int = 1 << 16


class ListFunctions(_Request, frozen=True, kw_only=True):
    """Which functions are marked with `@cellwright.tool`."""


class CallFunction(_Request, frozen=True, kw_only=True):
    """Call a marked function; no cell runs and no name changes."""

    name: str
    arguments: bytes
    """A JSON object."""
    tokens: int = 500
    json_bytes: int = 1 << 18


class TakeValues(_Request, frozen=True, kw_only=True):
    """Named variables whole, as far as JSON can say them."""

    names: list[str]
    tokens: int = 500
    json_bytes: int = 1 << 18


class AddFiles(_Request, frozen=True, kw_only=True):
    """Files of packages that the kernel did not have when it started."""

    files: dict[str, bytes]
    """Path inside the folder of packages → content."""


class Watch(_Message, frozen=True, kw_only=True):
    """Turn marimo's own notification channel on or off."""

    marimo: bool


class Survey(_Request, frozen=True, kw_only=True):
    """What stands in the way of a fork, right now."""


class Fork(_Request, frozen=True, kw_only=True):
    """Become two. Two descriptors come with this: the socket the other speaks on, and the root it lives in."""


class Farewell(_Message, frozen=True, kw_only=True):
    """A branch of this kernel has ended: take its process off the list."""

    pid: int


Running = Bind | Apply | GoOn | SetUi | Watch
"""Messages about the notebook's cells."""
_Asked = Look | RunProgram | ListFunctions | CallFunction | TakeValues | AddFiles | report_wire.AskFacts
SideQuestion = _Asked | answer_wire.AnswerRequest
"""Questions that run no cells."""
FromHost = transfer_wire.TransferRequest | Running | SideQuestion | Survey | Fork | Farewell | host_wire.HostAnswer


# ── guest → host ──


class Ready(_Message, frozen=True, kw_only=True):
    """The kernel is bound and listening."""

    pid: int
    python: str
    threads: int


class BeforeCell(_Request, frozen=True, kw_only=True):
    """The next cell of a run is about to start, and waits for `GoOn`. Until then the kernel can be forked."""

    cell: str
    waiting: list[str] = []
    """Cells of this run that have not run yet, this one among them."""
    stale: list[str] = []
    """Other cells that must run to be current."""


class CellStarted(_Request, frozen=True, kw_only=True):
    """A cell began to run."""

    cell: str


class Console(_Request, frozen=True, kw_only=True):
    """Text a cell printed."""

    cell: str
    stream: Literal["stdout", "stderr"]
    text: str


class Progress(_Request, frozen=True, kw_only=True):
    """How far a running cell's own progress bar is."""

    cell: str
    title: str
    done: float
    total: float | None = None


class CellFinished(_Request, frozen=True, kw_only=True):
    """A cell has its outcome."""

    report: CellReport


class Finished(_Request, frozen=True, kw_only=True):
    """The request is done; nothing more will be said of it."""

    stale: list[str] = []
    """Cells that must run to be current."""
    error: str = ""
    """A request the kernel could not carry out at all."""


class Looked(_Request, frozen=True, kw_only=True):
    """Answer to `Look`."""

    variables: list[Variable] = []


class ProgramEnded(_Request, frozen=True, kw_only=True):
    """Answer to `RunProgram`."""

    exit_code: int | None = None
    """None when it was stopped, or never ran."""
    output: str = ""
    left_out: int = 0
    is_late: bool = False
    error: str = ""
    """Why it never ran."""


class Functions(_Request, frozen=True, kw_only=True):
    """Answer to `ListFunctions`."""

    functions: list[FunctionSpec] = []


class FunctionEnded(_Request, frozen=True, kw_only=True):
    """Answer to `CallFunction`: a value, an error, or why it was not called."""

    cell: str = ""
    """Where the function is defined."""
    value: Value | None = None
    error: CellError | None = None
    refused: str = ""
    console: str = ""
    rebound: list[str] = []
    """Names of the notebook it had bound; they are as before."""
    stale: list[str] = []


class Taken(_Request, frozen=True, kw_only=True):
    """Answer to `TakeValues`; a name without a value is left out."""

    values: list[Value] = []


class FilesAdded(_Request, frozen=True, kw_only=True):
    """Answer to `AddFiles`."""

    error: str = ""


class Surveyed(_Request, frozen=True, kw_only=True):
    """Answer to `Survey`."""

    facts: HazardFacts


class Forked(_Request, frozen=True, kw_only=True):
    """Answer to `Fork`; also the first word of a branch that could not become one."""

    pid: int = 0
    error: str = ""


class CommandDone(_Message, frozen=True, kw_only=True):
    """One of marimo's own commands was carried out, or could not be."""

    request: int = 0
    stale: list[str] = []
    """Cells that must run to be current."""
    error: str = ""


_ForkAnswer = Surveyed | Forked | transfer_wire.TransferAnswer
SideAnswer = (
    Looked
    | ProgramEnded
    | Functions
    | FunctionEnded
    | Taken
    | FilesAdded
    | report_wire.FactsTold
    | answer_wire.AnswerReply
    | _ForkAnswer
)
"""Answers to questions that run no cells."""
Told = Ready | BeforeCell | CellStarted | Console | Progress | CellFinished | Finished | CommandDone | SideAnswer
"""What a kernel says of itself and its cells."""
FromGuest = Told | host_wire.FromCell

_encoder = msgspec.msgpack.Encoder()


def take_frame(buffer: bytearray) -> tuple[int, bytes] | None:
    """The next whole frame, its channel and body, out of what was received; `ValueError` for one over the cap."""
    if len(buffer) < HEADER.size:
        return None
    length, channel = HEADER.unpack_from(buffer)
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {length:,} bytes")
    end = HEADER.size + length
    if len(buffer) < end:
        return None
    body = bytes(buffer[HEADER.size : end])
    del buffer[:end]
    return channel, body


def encode(message: FromHost | FromGuest) -> bytes:
    """A whole frame on the typed channel."""
    body = _encoder.encode(message)
    return HEADER.pack(len(body), TYPED) + body
