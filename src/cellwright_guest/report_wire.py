"""What messages say of cells, values and functions; and what a kernel says of itself.

Light on purpose: the host decodes it, so nothing but msgspec is imported. All of it was said by the notebook's own
process and may be a lie; lists are bounded, and judged on the host.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Status = Literal["ok", "failed", "interrupted", "cancelled", "stopped", "disabled", "stale"]
"""ok: ran. failed: raised or could not be compiled. cancelled: an ancestor failed. stopped: an ancestor called
`mo.stop`. disabled: the cell or an ancestor is switched off. stale: must run to be current, and was not asked to."""


class CellError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a cell has no result."""

    type: str
    """The exception's class, or marimo's name for a structural error (`cycle`, `multiple-definition`, `syntax` …)."""
    message: str
    line: int | None = None
    """1-based line inside the cell."""
    traceback: str = ""
    """Short: only the frames in cells, and the last one below them."""


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a cell shows: bounded text for a model, and the rich form for a person."""

    mimetype: str
    text: str
    data: str = ""
    """As marimo's frontend draws it; empty when it was over the cap."""
    cut: bool = False
    """True when text or data was shortened."""


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """A typed, bounded look at one value. Costs the same for 10 MB and 1 GB."""

    name: str
    kind: str
    """dataframe, series, array, dict, list, text, number, model, figure, function, module, ui, object …"""
    type: str
    """Qualified class name, `pandas.DataFrame`."""
    text: str
    picture: bytes = b""
    """A small PNG for figures."""


class CellReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one cell's part in a run."""

    cell: str
    status: Status
    ms: float = 0.0
    error: CellError | None = None
    output: Output | None = None
    variables: list[Variable] = []


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value for a caller: a look at it, and the whole as JSON if it is plain and small."""

    variable: Variable
    json: bytes = b""
    """Empty: it is no JSON, or too much of it."""


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One function marked with `@cellwright.tool`."""

    name: str
    cell: str
    description: str = ""
    parameters: bytes = b""
    """JSON schema of its arguments."""
    problem: str = ""
    """Why it cannot be called."""


# ── facts of variables, and what a kernel holds that a fork could break or share ──

MOST_VARIABLES: Final = 200
MOST_COLUMNS: Final = 100
"""Limit of columns, or keys, that are listed one by one."""
MOST_TEXT: Final = 200


class _FactsMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    request: int


class ColumnFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table, all elements of an array or list, or one entry of a dict."""

    name: str = ""
    type: str = ""
    """`float64`, `str`, `list`."""
    nulls: int | None = None
    """Missing values, NaN too; None where nobody can say."""
    smallest: str = ""
    largest: str = ""
    """Both empty: the values have no order, or there are none."""
    text: str = ""
    """A single value, short."""
    digest: str = ""
    """Differs if the values that were read do; empty where none could be."""
    is_exact: bool = True
    """False: from a sample; `nulls` is then what the sample makes likely."""


class VariableFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One variable as it is now."""

    name: str
    kind: str
    """As in a preview: dataframe, series, array, list, dict, number, text, object …"""
    type: str
    """Qualified class name, `pandas.DataFrame`."""
    shape: list[int] | None = None
    """Rows and columns, sizes of an array, or how many items; None for a single value. -1: nobody counted yet."""
    columns: list[ColumnFacts] = []
    columns_left: int = 0
    """How many more there are."""
    values: ColumnFacts | None = None
    """All elements together, of what has no columns."""
    text: str = ""
    """A single value, or an object in a few words."""
    problem: str = ""
    """Why there is no more to say."""


class AskFacts(_FactsMessage, frozen=True, kw_only=True):
    """Host → guest: facts of the named variables; a name without a value is left out of the answer."""

    names: list[str]


class FactsTold(_FactsMessage, frozen=True, kw_only=True):
    """Guest → host: the answer to `AskFacts`."""

    facts: list[VariableFacts] = []


MOST_LISTED: Final = 200
"""Limit of a list; one this long may have been cut."""
UNKNOWN: Final = "unknown"
"""The owner of a thread that nobody could be found for."""


class PythonThread(msgspec.Struct, frozen=True, kw_only=True):
    """A thread that `threading` knows, the main one excepted."""

    name: str
    kind: str
    """Its class with the module: `threading.Thread`, `tqdm._monitor.TMonitor`."""


class NativeThreads(msgspec.Struct, frozen=True, kw_only=True):
    """Threads that a library started without Python knowing."""

    owner: str
    """The library's file name without version and suffix (`libgomp`, `_duckdb`), or `UNKNOWN`."""
    name: str
    """What the threads call themselves; the program's name when they were given none."""
    count: int


class ChildProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process the notebook started and has not waited for."""

    pid: int
    name: str


class SharedMapping(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that this process can write and others see: after a fork, both sides of it."""

    path: str
    is_deleted: bool = False
    owner: str = ""
    """`tqdm` for the lock it makes itself; else nobody known."""


class DatabaseFile(msgspec.Struct, frozen=True, kw_only=True):
    """A database's own file held open, known by its first bytes."""

    engine: str
    """`sqlite`, `duckdb`, `lmdb`."""
    path: str
    has_journal: bool
    """A journal or write-ahead log lies beside it: something may not be finished."""


class OpenMpRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """An OpenMP library that is loaded."""

    library: str
    is_pausable: bool
    """It offers `omp_pause_resource_all`, which ends its threads until they are needed again."""


class HazardFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything seen in one look. Defaults mean: nothing of this kind is there."""

    python_threads: list[PythonThread] = []
    native_threads: list[NativeThreads] = []
    children: list[ChildProcess] = []
    shared_mappings: list[SharedMapping] = []
    sockets: int = 0
    pipes: int = 0
    """Ends of pipes, named ones too."""
    unread_pipes: int = 0
    """Those of them in which bytes wait."""
    databases: list[DatabaseFile] = []
    anonymous: dict[str, int] = {}
    """Descriptors without a file, by kind (`eventpoll`, `eventfd`, `inotify`, `memfd` …); not the event loop's own."""
    devices: list[str] = []
    tasks: int = 0
    """Unfinished asyncio tasks of the kernel's loop."""
    timers: int = 0
    readers: int = 0
    """Descriptors the loop watches for the notebook."""
    libraries: list[str] = []
    """Those of note that are loaded (`jax`, `torch`, `tqdm` …)."""
    is_cuda_initialised: bool = False
    pools: list[str] = []
    """Pools of processes that stand: `loky`, `multiprocessing`, `concurrent.futures`."""
    openmp: list[OpenMpRuntime] = []
    unseen: list[str] = []
    """What could not be looked at (`threads`, `memory`, `descriptors`, `children`): nothing is known about it."""
