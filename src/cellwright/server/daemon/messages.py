"""Bodies and answers of the daemon's own routes, as both ends know them. Light: a command loads no FastAPI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, TypeAdapter

from cellwright.errors import Unavailable
from cellwright.remedies import remedy
from cellwright.sandbox.spec import FilesMode, Tier
from cellwright.server.http.addresses import API, WebOptions
from cellwright.server.http.schemas.model import RequestModel

PERSON_HEADER: Final = "cellwright-person"
"""Who sits at the terminal, percent-encoded; absent: whoever the system says the process belongs to."""
FOLDER_HEADER: Final = "cellwright-folder"
"""Where `cellwright mcp` or `acp` was started, percent-encoded: what it works in."""
VERSION_HEADER: Final = "cellwright-version"
"""Of whoever asks."""
MCP_PATH: Final = f"{API}/mcp"
"""Lines of MCP both ways, for as long as the client lasts."""
ACP_PATH: Final = f"{API}/acp"
"""The same of ACP."""
MAX_REQUEST: Final = 1 << 20
"""A goal with its plan; data travels by path."""

When = Literal["now", "idle"]
"""now: what is in flight goes on at the next start. idle: as soon as no run is at work."""


Words = Annotated[str, StringConstraints(max_length=8_000)]


class NotebookBody(RequestModel):
    """A notebook, with options as they were typed."""

    path: Words
    """Absolute."""
    here: Words
    """Where the command was given: relative paths of data mean files there."""
    files: FilesMode = "keep"
    data: tuple[Words, ...] = ()
    reveal: tuple[Words, ...] = ()
    limits: tuple[Words, ...] = ()
    project: Words | None = None
    tier: Tier | None = None
    allow_uncontained: bool = False
    python: Literal["header", "ours"] = "header"
    connection: dict[Annotated[str, StringConstraints(min_length=1, max_length=200)], Words] = Field(
        default={}, repr=False
    )
    """Proxies, certificates and indexes in force where the command was given."""


class RunNotebookBody(NotebookBody):
    """A notebook to be run from top to bottom."""

    may_ask: bool = False
    """Whether a person is there who can say whether more changed files are kept than the limits let pass."""


class VerifyNotebookBody(NotebookBody):
    """A notebook to be run twice from scratch, judged, and proven if all is well."""

    seconds: Annotated[float, Field(gt=0)] = 600
    """How long each of the two runs may take."""
    is_strict: bool = False


class KeepChangesBody(RequestModel):
    """The person's answer."""

    keep: bool


class StopDaemonBody(RequestModel):
    """When the daemon ends, and why."""

    when: When = "now"
    why: Annotated[str, StringConstraints(max_length=200)] = ""


class OpenWebBody(RequestModel):
    """How the web server is opened if it is not open; null: it is not opened."""

    options: WebOptions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonVersion:
    """Which daemon answers. Stays as it is in every version: that is how a newer one takes over."""

    pid: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus(DaemonVersion):
    """How the daemon is doing."""

    since: str
    runs_at_work: int
    connections: int
    idle_seconds: float | None
    """It ends after so long without a run at work and without a connection; None: only when told."""
    web: str = ""
    """Where its web server is, without a code; empty: not open."""


STATUS: Final = TypeAdapter(DaemonStatus)
"""Reads what a daemon of any version says of itself; what this one does not know is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """Where the web server is open."""

    origin: str
    url: str = field(repr=False)
    """Lets a browser in, once."""
    folder: str


def other_version(found: DaemonVersion, version: str) -> Unavailable:
    """The error for a daemon that is left alone."""
    return Unavailable(
        f"The daemon is of version {found.version}, this is {version}.",
        hint=remedy(
            "stop_daemon", lead="Upgrade this Cellwright, or let the daemon end: its runs wait until then.", how=""
        ),
    )
