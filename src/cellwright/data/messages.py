"""What is said to the broker and what it answers: one request and one reply for each connection to its socket.

A reply may bring one descriptor: a result as Arrow or a part of a file in sealed memory, or a line for an exchange.
Cells of a notebook say the same words (`query`, `schema`) to their host, which passes on what was allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, TypeAdapter, ValidationError

from cellwright.data.file_paths import FileChanged, NoSuchFile
from cellwright.errors import CellwrightError, Defect, RefusedByPolicy, Unavailable, UserError
from cellwright.framing import BadFrame
from cellwright.remedies import parse_remedy, remedy_json

VERSION: Final = 1
"""Of the protocol. A broker and a client of different versions do not speak."""
MAX_STATEMENT: Final = 1 << 19
"""More than any statement may have, so that one that is too long is told so."""
ResultForm = Literal["arrow", "json"]
"""arrow: an Arrow file. json: a line for each row, a list of values: for whoever must not read a stranger's Arrow."""
Parameter = None | bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """For whom a statement is sent; for the audit."""

    person: str = ""
    run: str = ""
    notebook: str = ""
    project: str = ""
    """The folder; empty: a person at a terminal or in the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Rows of a statement that only reads."""

    connection: str
    statement: str
    parameters: tuple[Parameter, ...] = ()
    fresh: bool = False
    """Ask the server, whatever is known of it."""
    rows: int | None = None
    megabytes: int | None = None
    seconds: float | None = None
    agreed_rows: int = 0
    """A person agreed that so many are read for it."""
    agreed_bytes: int = 0
    """The same in bytes."""
    form: ResultForm = "arrow"
    asker: Asker = field(default_factory=Asker)
    kind: Literal["query"] = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseeQuery:
    """Whether a query would take more than its connection lets pass unasked; it is not sent."""

    query: RunQuery
    kind: Literal["foresee"] = "foresee"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSchema:
    """What a connection shows."""

    connection: str
    tables: tuple[str, ...] | None = None
    """Only these; None: all."""
    fresh: bool = False
    kind: Literal["schema"] = "schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class TryConnection:
    """Whether it can be opened, and what is there."""

    connection: str
    kind: Literal["try"] = "try"


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearseWrite:
    """What a write would change."""

    connection: str
    statement: str
    asker: Asker = field(default_factory=Asker)
    kind: Literal["rehearse"] = "rehearse"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeWrite:
    """Make a change that a person agreed to. The same id is never sent to a server twice."""

    id: str
    connection: str
    statement: str
    asker: Asker = field(default_factory=Asker)
    kind: Literal["write"] = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenExchange:
    """A line on which one HTTP exchange with the connection is spoken; it comes as the reply's descriptor."""

    connection: str
    asker: Asker = field(default_factory=Asker)
    kind: Literal["exchange"] = "exchange"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFiles:
    """What is in a folder of a connection."""

    connection: str
    path: str = ""
    """Below the connection's own place, with slashes between; empty: that place itself."""
    recursive: bool = False
    """Every file below, and no folders."""
    fresh: bool = False
    """Ask the server, whatever is known of it."""
    asker: Asker = field(default_factory=Asker)
    kind: Literal["files"] = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatFile:
    """Size and version of a file."""

    connection: str
    path: str
    fresh: bool = False
    asker: Asker = field(default_factory=Asker)
    kind: Literal["stat"] = "stat"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """Bytes of a file."""

    connection: str
    path: str
    start: int = 0
    length: int | None = None
    """None: to its end."""
    version: str = ""
    """Only of this version; empty: whichever there is."""
    asker: Asker = field(default_factory=Asker)
    kind: Literal["read"] = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStatements:
    """What was sent, the latest first."""

    connection: str = ""
    """Empty: of all."""
    run: str = ""
    most: int = 50
    kind: Literal["statements"] = "statements"


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveSecrets:
    """Secrets to hold from now on, by connection, and those to forget. What is kept is read anew."""

    secrets: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    forget: tuple[str, ...] = ()
    kind: Literal["secrets"] = "secrets"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleSecret:
    """Find this connection's secret, so that the mark by which its answers are remembered is that of its secret."""

    connection: str
    kind: Literal["settle"] = "settle"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopBroker:
    """End now; what runs is cancelled."""

    kind: Literal["stop"] = "stop"


BrokerRequest = (
    RunQuery
    | ForeseeQuery
    | ReadSchema
    | TryConnection
    | RehearseWrite
    | MakeWrite
    | OpenExchange
    | ListFiles
    | StatFile
    | ReadFile
    | ListStatements
    | GiveSecrets
    | SettleSecret
    | StopBroker
)
_REQUEST: Final[TypeAdapter[BrokerRequest]] = TypeAdapter(Annotated[BrokerRequest, Discriminator("kind")])

_NETWORK: Final = "network"
_NETWORK_VARIABLES: Final = TypeAdapter(dict[str, str] | None)


def read_broker_request(payload: bytes) -> BrokerRequest:
    """What a client asks. Raises `BadFrame`, which repeats nothing of it."""
    try:
        return _REQUEST.validate_json(payload)
    except (ValidationError, RecursionError) as error:
        raise BadFrame(f"{type(error).__name__} in a request") from None


def broker_request_json(request: BrokerRequest, network: Mapping[str, str] | None = None) -> dict[str, Any]:
    """As plain JSON values; `network` goes beside it, and so is in nothing that records a request."""
    plain: dict[str, Any] = _REQUEST.dump_python(request, mode="json")
    return plain if network is None else plain | {_NETWORK: dict(network)}


def read_request_network(plain: dict[str, Any]) -> dict[str, str] | None:
    """Take out of a request how it is to be connected; None: it does not say. Raises `BadFrame`."""
    try:
        return _NETWORK_VARIABLES.validate_python(plain.pop(_NETWORK, None))
    except ValidationError:
        raise BadFrame("no settings of a network") from None


# ── what is answered ──


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What a query gave. Whoever gets it closes the descriptor."""

    rows: int
    bytes: int
    cut: Literal["", "rows", "bytes"] = ""
    columns: tuple[tuple[str, str], ...] = ()
    """Names, and types in Arrow's words."""
    notices: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    sha256: str = ""
    """Of the Arrow file."""
    at: str = ""
    """When it was asked, ISO."""
    seconds: float = 0.0
    is_volatile: bool = False
    """Asked again it may differ though nothing changed: no cache keeps it."""
    descriptor: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostlyQuery:
    """It was not sent: it would take more than the connection lets pass unasked."""

    rows: int | None = None
    bytes: int | None = None
    """What the server expects to read; None: it does not say."""
    price: str = ""
    """Empty: the source charges nothing, or nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedConnection:
    """It can be opened."""

    server: str
    tables: int | None
    """None: it is no database."""
    seconds: float
    notices: tuple[str, ...] = ()
    """What is open and yet not as it was meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedWrite:
    """What a write would do."""

    statement: str
    """As it would be sent."""
    tables: tuple[str, ...] = ()
    rows: int | None = None
    """None: it cannot be undone here, so it was not tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """What came of a write."""

    outcome: Literal["done", "unknown"]
    """unknown: it was being sent when a process died; it is never sent again."""
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file or a folder of a connection."""

    path: str
    """Below the connection's own place."""
    size: int | None = 0
    """None: the server does not say it in a list."""
    is_folder: bool = False
    version: str = ""
    """Another one whenever the bytes are others; empty: the server has none."""
    modified: str = ""
    """ISO; empty: the server does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """What is in a folder."""

    entries: tuple[FileEntry, ...]
    is_cut: bool = False
    """There are more than are told at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """Bytes of a file in sealed memory. Whoever gets it closes the descriptor."""

    size: int
    """Of the part."""
    version: str = ""
    sha256: str = ""
    """Of the part."""
    at: str = ""
    """When it was asked, ISO."""
    descriptor: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentStatement:
    """One line of the audit."""

    id: int
    at: str
    connection: str
    access: Literal["read", "write"]
    statement: str
    """Or method and path of an exchange."""
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: int | None = None
    bytes: int | None = None
    """Of what was answered."""
    seconds: float = 0.0
    outcome: str = "done"
    """`done`, `refused`, `failed`, `cancelled`, `costly`, `sending` or `unknown`."""
    why: str = ""
    price: str = ""
    person: str = ""
    run: str = ""
    notebook: str = ""
    status: int | None = None
    """Of the server's answer to an exchange; 0: there was none."""
    sent_bytes: int | None = None
    """Of an exchange's body."""


_ERRORS: Final[dict[str, type[CellwrightError]]] = {
    "missing": NoSuchFile,
    "changed": FileChanged,
    "user": UserError,
    "refused": RefusedByPolicy,
    "unavailable": Unavailable,
    "defect": Defect,
}


def failure_json(error: CellwrightError) -> dict[str, Any]:
    """An error as a reply."""
    kind = next((name for name, cls in _ERRORS.items() if isinstance(error, cls)), "defect")
    plain: dict[str, Any] = {"kind": "failed", "error": kind, "message": error.message, "hint": error.hint}
    return plain if error.remedy is None else plain | {"remedy": remedy_json(error.remedy)}


def failure_of(reply: dict[str, Any]) -> CellwrightError | None:
    """The error in a reply, if it is one."""
    match reply:
        case {"kind": "failed", "error": str(kind), "message": str(message), "hint": str(hint)}:
            advice = parse_remedy(reply.get("remedy")) or hint
            return _ERRORS.get(kind, Unavailable)(message, hint=advice)
        case {"kind": "failed", "message": str(message), "hint": str(hint)}:
            return Unavailable(message, hint=hint)
        case _:
            return None
