"""What a person has seen and allowed of a server's tools: each by the hash of all that a model could be told of it.

A tool that is new or was changed is hidden from every model until a person saw the difference. The texts are kept with
the approval: a model is told these, and never what a server says now.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.notebook.atomic_write import write_atomically
from cellwright.policy.display_text import shown, shown_block
from cellwright.tools.mcp.servers import is_server_name

_FOLDER: Final = "tool-approvals"
ToolStanding = Literal["allowed", "new", "changed", "gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool as its server defines it."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None
    """A server's own word about what a call does: shown to a person, and believed by nobody."""

    @property
    def may_change(self) -> bool:
        """Whether a call may change something, for all we know. Where a server says it only reads, a person has seen
        that: then a yes of theirs may last, and nothing else follows from it.
        """
        return (self.annotations or {}).get("readOnlyHint") is not True

    @property
    def text(self) -> str:
        """All of it as canonical JSON."""
        said = {name: getattr(self, name) for name in ServerTool.__slots__}
        return json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    @property
    def sha256(self) -> str:
        """Names exactly this definition."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def lines(self) -> list[str]:
        """All of it for a person, a line for each part, with nothing invisible and nothing that reorders."""
        parts = [shown(self.name), f"title: {shown(self.title)}" if self.title else ""]
        parts += [f"  {line}" for line in shown_block(self.description).split("\n")]
        for name, value in (
            ("arguments", self.input_schema), ("answers", self.output_schema), ("says of itself", self.annotations),
        ):  # fmt: skip
            if value:
                text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
                parts += [f"{name}: {shown(line)}" if not place else f"  {shown(line)}"
                          for place, line in enumerate(text.split("\n"))]  # fmt: skip
        return [part for part in parts if part.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTool:
    """A definition that a person has seen and allowed."""

    tool: ServerTool
    sha256: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedTool:
    """A tool beside what was allowed of it."""

    name: str
    standing: ToolStanding
    now: ServerTool | None = None
    """None: the server has it no more, or was not asked."""
    before: AllowedTool | None = None

    @property
    def may_change(self) -> bool:
        """Whether a call may change something, for all that is known of it."""
        known = self.now or (self.before.tool if self.before else None)
        return known is None or known.may_change

    def diff(self) -> str:
        """What a person is to look at: all of what is new, what was changed, nothing of what stands as it was."""
        match self.standing:
            case "new":
                return "\n".join(f"+ {line}" for line in self.now.lines()) if self.now else ""
            case "changed" if self.now and self.before:
                old, new = self.before.tool.lines(), self.now.lines()
                return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=2))[2:])
            case _:
                return ""


def review(now: Iterable[ServerTool] | None, allowed: Mapping[str, AllowedTool]) -> list[ReviewedTool]:
    """Each tool by how it stands; `now` is None where the server was not asked."""
    if now is None:
        return [ReviewedTool(name=name, standing="allowed", before=each) for name, each in sorted(allowed.items())]
    there = {tool.name: tool for tool in now}
    found = list[ReviewedTool]()
    for name in sorted({*there, *allowed}):
        tool, before = there.get(name), allowed.get(name)
        standing: ToolStanding = "new"
        if tool is None:
            standing = "gone"
        elif before is not None:
            standing = "allowed" if before.sha256 == tool.sha256 else "changed"
        found.append(ReviewedTool(name=name, standing=standing, now=tool, before=before))
    return found


def fingerprint_of(tools: Iterable[ServerTool]) -> str:
    """Names exactly these definitions."""
    return hashlib.sha256("".join(sorted(tool.sha256 for tool in tools)).encode()).hexdigest()


_ALLOWED: Final = TypeAdapter(dict[str, AllowedTool])


@dataclass(frozen=True, slots=True)
class ToolApprovals:
    """What was allowed, a file for each server in the state directory. All of it blocks."""

    home: Path

    def of(self, server: str) -> dict[str, AllowedTool]:
        """By the tool's name. What does not fit its hash was tampered with and does not count. Raises `UserError`."""
        file = self._file(server)
        try:
            kept = _ALLOWED.validate_json(file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            raise UserError(f"Cannot read {str(file)!r}.", hint="Move it away, and allow the tools again.") from error
        return {name: each for name, each in kept.items() if each.tool.sha256 == each.sha256}

    def allow(self, server: str, tools: Sequence[ServerTool], *, by: str, gone: Collection[str] = ()) -> None:
        """From now on agents may be told exactly these; those that are `gone` are forgotten."""
        kept = {name: each for name, each in self.of(server).items() if name not in gone}
        now = datetime.now(UTC)
        kept |= {tool.name: AllowedTool(tool=tool, sha256=tool.sha256, by=by, at=now) for tool in tools}
        self._file(server).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(self._file(server), _ALLOWED.dump_json(kept))

    def forget(self, server: str) -> None:
        """Nothing of this server is allowed any more."""
        self._file(server).unlink(missing_ok=True)

    def _file(self, server: str) -> Path:
        if not is_server_name(server):
            raise UserError(f"{server[:80]!r} is no server's name.", hint="Name one that is listed.")
        return self.home / _FOLDER / f"{server}.json"
