"""What an action is about, in one spelling: what rules match, and how far a lasting answer reaches.

A target leaves out what the person need not see again (a diff, a statement), and nothing else: host and port, path,
connection and access, package, whole command line, branch, tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from cellwright.policy import actions
from cellwright.policy.display_text import shown
from cellwright.policy.hosts import Host, is_port, parse_host
from cellwright.policy.money import Money, Price
from cellwright.policy.paths import parse_path


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTarget:
    """A file, or a notebook."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTarget:
    """A port of a host."""

    host: Host
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionTarget:
    """A named connection, to read or to write."""

    connection: str
    access: actions.Access


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageTarget:
    """A package of the configured index, in any version; or of exactly one other place."""

    name: str
    place: str = ""
    """A direct address or another index. No rule that names packages allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTarget:
    """Money and tokens."""

    price: Price
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTarget:
    """A whole command line in a folder."""

    command: tuple[str, ...]
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTarget:
    """A branch of a repository."""

    repository: str
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTarget:
    """A tool of a server, with any arguments."""

    server: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedTarget:
    """A notebook on a server that is not ours."""

    server: str
    notebook: str


Target = (
    FileTarget
    | HostTarget
    | ConnectionTarget
    | PackageTarget
    | PriceTarget
    | CommandTarget
    | BranchTarget
    | ToolTarget
    | AttachedTarget
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """An action nobody can judge: programs would disagree about what it means."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """How far an answer reaches that holds for more than one action: this kind, this target."""

    kind: actions.Kind
    target: Target

    @property
    def fingerprint(self) -> actions.Fingerprint:
        """Names exactly this scope."""
        # Dataclass reprs quote their strings, so two scopes never read alike.
        return actions.fingerprint_of((self.kind, repr(self.target)))

    def describe(self) -> str:
        """The reach in words, for the person who answers."""
        target = self.target
        match target:
            case FileTarget():
                return f"{actions.TRAITS[self.kind].verb} {shown(target.path)}"
            case HostTarget():
                return f"connect to {shown(target.host.name)} port {target.port}"
            case ConnectionTarget(access="read"):
                return f"read anything from the connection {shown(target.connection)}"
            case ConnectionTarget():
                return f"change anything through the connection {shown(target.connection)}"
            case PackageTarget():
                return f"install {shown(target.name)} from {shown(target.place) or 'the configured index'}, any version"
            case PriceTarget():
                return f"spend {target.price}, {target.tokens} tokens"
            case CommandTarget():
                return f"run exactly {shown(repr(list(target.command)))} in {shown(target.folder)}"
            case BranchTarget():
                return f"commit anything to the branch {shown(target.branch)} of {shown(target.repository)}"
            case ToolTarget():
                return f"call the tool {shown(target.tool)} of {shown(target.server)} with any arguments"
            case AttachedTarget():
                notebook = shown(target.notebook or "a notebook without a file")
                return f"change and run any cell of {notebook} on {shown(target.server)}, outside our cage"
            case _:
                assert_never(target)


def scope_of(action: actions.Action, project: str) -> Scope | Malformed:
    """The reach of a lasting answer about this action."""
    target = target_of(action, project)
    return target if isinstance(target, Malformed) else Scope(kind=action.kind, target=target)


def target_of(action: actions.Action, project: str) -> Target | Malformed:
    """What the action is about, in the one spelling that is judged."""
    match action:
        case actions.EditCells() | actions.RunCode():
            return _file(action.notebook, project)
        case actions.ReadFile() | actions.WriteFile() | actions.DeleteFile():
            return _file(action.path, project)
        case actions.UseNetwork():
            return _host(action)
        case actions.QueryConnection():
            return ConnectionTarget(connection=action.connection, access=action.access)
        case actions.InstallPackage():
            return _package(action)
        case actions.Spend():
            return _price(action)
        case actions.RunShell():
            return _command(action, project)
        case actions.GitCommit():
            repository = parse_path(action.repository, project)
            if repository is None:
                return _bad_path(action.repository)
            return BranchTarget(repository=repository, branch=action.branch)
        case actions.CallServerTool():
            return ToolTarget(server=action.server, tool=action.tool)
        case actions.ChangeAttached():
            return AttachedTarget(server=action.server, notebook=action.notebook)
        case _:
            assert_never(action)


def _file(text: str, project: str) -> FileTarget | Malformed:
    path = parse_path(text, project)
    return _bad_path(text) if path is None else FileTarget(path=path)


def _bad_path(text: str) -> Malformed:
    return Malformed(reason=f"{shown(text)!r} names no place for sure: it is empty, or has `..` or a NUL.")


def _host(action: actions.UseNetwork) -> HostTarget | Malformed:
    host = parse_host(action.host)
    if host is None:
        return Malformed(reason=f"{shown(action.host)!r} is no host name or address all programs agree on.")
    if not is_port(action.port):
        return Malformed(reason=f"{action.port} is no port.")
    return HostTarget(host=host, port=action.port)


def _package(action: actions.InstallPackage) -> PackageTarget | Malformed:
    try:
        requirement = Requirement(action.requirement)
    except (InvalidRequirement, RecursionError):
        return Malformed(reason=f"{shown(action.requirement)!r} is no package requirement.")
    place = " ".join(part for part in (requirement.url or "", action.index) if part)
    return PackageTarget(name=canonicalize_name(requirement.name), place=place)


def _price(action: actions.Spend) -> PriceTarget | Malformed:
    if isinstance(action.price, Money) and not action.price.is_sound:
        return Malformed(reason=f"{shown(str(action.price))} is no amount of money.")
    if action.tokens < 0:
        return Malformed(reason="A number of tokens is not negative.")
    return PriceTarget(price=action.price, tokens=action.tokens)


def _command(action: actions.RunShell, project: str) -> CommandTarget | Malformed:
    folder = parse_path(action.folder, project)
    if folder is None:
        return _bad_path(action.folder)
    if not action.command or any("\0" in word for word in action.command):
        return Malformed(reason="A command has a program and no NUL.")
    return CommandTarget(command=action.command, folder=folder)
