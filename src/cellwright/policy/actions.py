"""What an agent may want to do, as values: a closed union, each member telling a person exactly what will happen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, ClassVar, Literal, NamedTuple, NewType, get_args

from cellwright.policy.display_text import shown, shown_block
from cellwright.policy.money import Price

Kind = Literal[
    "edit-cells",
    "run-code",
    "read-file",
    "write-file",
    "delete-file",
    "use-network",
    "query-connection",
    "install-package",
    "spend",
    "run-shell",
    "git-commit",
    "call-tool",
    "change-attached",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class KindTraits(NamedTuple):
    """What holds for every action of one kind."""

    default: Literal["allow", "ask"]
    """What is said where no rule speaks of it."""
    listed_as: str
    """Under which key a rule lists what it means; empty for spending, which has bounds instead."""
    heading: str
    """In an envelope."""
    verb: str = ""
    """How far a lasting yes about a file reaches."""
    needs_person: bool = False
    """No rule allows it and no yes is for good: nothing contains it, so a person is there, in each run."""


TRAITS: Mapping[Kind, KindTraits] = {
    "edit-cells": KindTraits("allow", "paths", "Notebooks to edit", "edit any cell of"),
    "run-code": KindTraits("allow", "paths", "Notebooks to run", "run any code in the cage of"),
    "read-file": KindTraits("allow", "paths", "Files to read", "read"),
    "write-file": KindTraits("ask", "paths", "Files to write", "write anything to"),
    "delete-file": KindTraits("ask", "paths", "Files to delete", "delete"),
    "use-network": KindTraits("ask", "hosts", "Hosts to reach"),
    "query-connection": KindTraits("ask", "connections", "Connections to use"),
    "install-package": KindTraits("ask", "packages", "Packages to install"),
    "spend": KindTraits("allow", "", "Money to spend"),
    "run-shell": KindTraits("ask", "commands", "Commands to run"),
    "git-commit": KindTraits("ask", "branches", "Branches to commit to"),
    "call-tool": KindTraits("ask", "tools", "Tools to call"),
    "change-attached": KindTraits("ask", "servers", "Notebooks to change outside the cage", needs_person=True),
}
Access = Literal["read", "write"]

Fingerprint = NewType("Fingerprint", str)
"""Names one value exactly: equal only for equal values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCells:
    """Change cells of a notebook."""

    kind: ClassVar[Kind] = "edit-cells"
    notebook: str
    diff: str

    def describe(self) -> str:
        """What will happen, for a person."""
        return _with_body(f"Edit cells of {shown(self.notebook)}", self.diff)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCode:
    """Run code in the notebook's cage."""

    kind: ClassVar[Kind] = "run-code"
    notebook: str
    code: str

    def describe(self) -> str:
        """What will happen, for a person."""
        return _with_body(f"Run code in the kernel of {shown(self.notebook)}", self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """Read a file. `path` is the real one, links already followed."""

    kind: ClassVar[Kind] = "read-file"
    path: str

    def describe(self) -> str:
        """What will happen, for a person."""
        return f"Read the file {shown(self.path)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    """Create or change a file. `path` is the real one, links already followed."""

    kind: ClassVar[Kind] = "write-file"
    path: str
    diff: str

    def describe(self) -> str:
        """What will happen, for a person."""
        return _with_body(f"Write the file {shown(self.path)}", self.diff)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Delete one file. `path` is the real one, links already followed."""

    kind: ClassVar[Kind] = "delete-file"
    path: str

    def describe(self) -> str:
        """What will happen, for a person."""
        return f"Delete the file {shown(self.path)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UseNetwork:
    """Connect to a host. Judged by name here; the egress proxy judges again by the address it resolved to."""

    kind: ClassVar[Kind] = "use-network"
    host: str
    port: int
    purpose: str = ""

    def describe(self) -> str:
        """What will happen, for a person."""
        return _with_purpose(f"Connect to {shown(self.host)} port {self.port}", self.purpose)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConnection:
    """Run a statement on a named connection. A statement not known to only read is `write`."""

    kind: ClassVar[Kind] = "query-connection"
    connection: str
    access: Access
    statement: str
    touches: str = ""
    """What a rehearsal of a change showed, or what the server expects to read for a costly query."""

    @property
    def is_costly(self) -> bool:
        """Whether it reads more than its connection lets pass unasked."""
        return self.access == "read" and bool(self.touches)

    def describe(self) -> str:
        """What will happen, for a person."""
        verb = "Read from" if self.access == "read" else "Change data through"
        touched = f"\n{shown(self.touches)}" if self.touches else ""
        return _with_body(f"{verb} the connection {shown(self.connection)}", self.statement) + touched


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPackage:
    """Install one requirement, as pip would read it."""

    kind: ClassVar[Kind] = "install-package"
    requirement: str
    index: str = ""
    """Another package index than the configured one; no rule that names packages allows it."""

    def describe(self) -> str:
        """What will happen, for a person."""
        origin = f" from the index {shown(self.index)}" if self.index else ""
        return f"Install the package {shown(self.requirement)}{origin}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """Spend money or tokens, most often on a model call."""

    kind: ClassVar[Kind] = "spend"
    price: Price
    tokens: int = 0
    purpose: str = ""

    def describe(self) -> str:
        """What will happen, for a person."""
        tokens = f" ({self.tokens} tokens)" if self.tokens else ""
        return _with_purpose(f"Spend {shown(str(self.price))}{tokens}", self.purpose)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShell:
    """Run a program with these arguments. No shell reads them again."""

    kind: ClassVar[Kind] = "run-shell"
    command: tuple[str, ...]
    folder: str

    def describe(self) -> str:
        """What will happen, for a person."""
        # JSON's quoting keeps arguments apart whatever stands in them.
        words = " ".join(json.dumps(shown(word), ensure_ascii=False) for word in self.command)
        return f"Run {words} in {shown(self.folder)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCommit:
    """Commit to a branch."""

    kind: ClassVar[Kind] = "git-commit"
    repository: str
    branch: str
    message: str
    diff: str

    def describe(self) -> str:
        """What will happen, for a person."""
        title = f"Commit to the branch {shown(self.branch)} of {shown(self.repository)}"
        return _with_body(title, f"{self.message}\n\n{self.diff}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallServerTool:
    """Call a tool of an outside server."""

    kind: ClassVar[Kind] = "call-tool"
    server: str
    tool: str
    arguments: str
    """JSON text, exactly as it will be sent."""
    may_change: bool = False
    """Whether it may change something there: then a yes holds for this one call."""

    @classmethod
    def of(cls, server: str, tool: str, arguments: Mapping[str, object], *, may_change: bool = False) -> CallServerTool:
        """A call with arguments not yet written as JSON."""
        text = json.dumps(arguments, sort_keys=True)
        return cls(server=server, tool=tool, arguments=text, may_change=may_change)

    def describe(self) -> str:
        """What will happen, for a person."""
        effect = ", which may change something" if self.may_change else ""
        return _with_body(f"Call the tool {shown(self.tool)} of {shown(self.server)}{effect}", self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAttached:
    """Change or run cells of a notebook that lives in somebody's own marimo, outside our cage."""

    kind: ClassVar[Kind] = "change-attached"
    server: str
    """Its address, without a token."""
    notebook: str
    """Its file, on the server's machine; empty: it was never saved."""
    change: str
    """What would be different, and what would run, whole."""

    def describe(self) -> str:
        """What will happen, for a person."""
        notebook = shown(self.notebook or "a notebook without a file")
        title = f"Change a cell of a notebook outside our cage, {notebook} on {shown(self.server)}"
        return _with_body(title, self.change)


Action = (
    EditCells
    | RunCode
    | ReadFile
    | WriteFile
    | DeleteFile
    | UseNetwork
    | QueryConnection
    | InstallPackage
    | Spend
    | RunShell
    | GitCommit
    | CallServerTool
    | ChangeAttached
)
_LATER_MEMBERS = frozenset({"touches", "may_change"})
ACTIONS: Mapping[Kind, type[Action]] = {member.kind: member for member in get_args(Action)}


def fingerprint(action: Action) -> Fingerprint:
    """Names exactly this action, every argument included."""
    # What a version after gave a member counts where it says something: else a question asked before is the same.
    parts = [
        _plain(value)
        for field in fields(action)
        if (value := getattr(action, field.name)) or field.name not in _LATER_MEMBERS
    ]
    return fingerprint_of((action.kind, *parts))


def fingerprint_of(parts: object) -> Fingerprint:
    """Names a nested structure of strings, numbers and sequences."""
    canonical = json.dumps(parts, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return Fingerprint(hashlib.sha256(canonical.encode("ascii")).hexdigest())


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        # 1.0 and 1.00 are the same money; `normalize` would round.
        sign, digits, exponent = value.as_tuple()
        written = "".join(map(str, digits))
        kept = written.rstrip("0")
        return (sign, kept, exponent + len(written) - len(kept)) if kept and isinstance(exponent, int) else str(value)
    if isinstance(value, (str, int, tuple)):
        return value
    # Money and UnknownPrice, which are slotted.
    kind: Any = type(value)
    return [kind.__name__, *(_plain(getattr(value, name)) for name in kind.__slots__)]


def _with_body(title: str, body: str) -> str:
    return f"{title}:\n{shown_block(body)}" if body else title


def _with_purpose(title: str, purpose: str) -> str:
    return f"{title} for {shown(purpose)}" if purpose else title
