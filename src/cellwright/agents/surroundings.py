"""What an agent sees without asking: the notebook, files it may want, and the limits its code runs under.

Looked at once in every step, inside a journal step: what was seen is kept, so a replayed step reads the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import anyio.to_thread

from cellwright.agents.context import Part, Rank, Weight
from cellwright.ids import CellId
from cellwright.notebook import clip
from cellwright.sandbox import FilesMode, Limits
from cellwright.tools.notebook_desk import NotebookDesk

_NOTEBOOK_LEAST_TOKENS: Final = 300
_PREVIEW_LINES: Final = 6
_PREVIEW_CHARACTERS: Final = 600
_READ_BYTES: Final = 8_192
_MANY_FILES: Final = 12
_TABLES: Final = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".md", ".yaml", ".yml", ".toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look around."""

    parts: tuple[Part, ...] = ()
    """Everything here is data: it is fenced before a model reads it."""
    news: str = ""
    """What others did meanwhile."""


class Sight(Protocol):
    """Something an agent sees in every step."""

    async def look(self, tokens: int) -> Seen:
        """What there is to see now, within so many tokens."""
        ...


class NotebookSight:
    """The notebook as it is now: cells, graph, outcomes; the selected cell and its neighbours first."""

    def __init__(self, desk: NotebookDesk, *, selected: Collection[CellId] = ()) -> None:
        self._desk = desk
        self.selected: frozenset[CellId] = frozenset(selected)
        """The cell a person stands in, if any."""

    async def look(self, tokens: int) -> Seen:
        """The notebook in words, and what people changed in it."""
        await self._desk.sync()
        news = self._desk.take_news()
        summary = self._desk.notebook.summary(budget_tokens=tokens, focus=sorted(self.selected))
        if self.selected:
            summary = f"Selected by the person: {', '.join(sorted(self.selected))}\n{summary}"
        part = Part(name="notebook", text=summary, weight=Weight.STRONG, least_tokens=_NOTEBOOK_LEAST_TOKENS)
        return Seen(parts=(part,), news=news)


class FileSight:
    """Files of the project, each with its size and its first lines: not bare names."""

    def __init__(self, project: Path, files: Sequence[str]) -> None:
        self._project = project
        self._files = tuple(files)

    async def look(self, tokens: int) -> Seen:
        """A preview of each file."""
        return await anyio.to_thread.run_sync(self._look, tokens)

    def _look(self, tokens: int) -> Seen:
        shown = self._files[:_MANY_FILES]
        texts = [preview_file(self._project, name) for name in shown]
        if len(self._files) > len(shown):
            texts.append(f"and {len(self._files) - len(shown)} more files: {', '.join(self._files[len(shown) :][:50])}")
        text = clip("\n\n".join(texts), tokens)
        return Seen(parts=(Part(name="files", text=text, rank=Rank.ASSIGNMENT, least_tokens=100),))


def preview_file(project: Path, name: str) -> str:
    """A file's name, size and first lines; of one outside the project or hidden only that it is not shown. Blocking."""
    root = project.resolve()
    path = (root / name).resolve()
    inside = path.relative_to(root) if path.is_relative_to(root) else None
    if inside is None or any(step.startswith(".") for step in inside.parts):
        return f"{name}: not shown"
    if not path.is_file():
        return f"{name}: is not there"
    size = path.stat().st_size
    head = f"{name} ({size:,} bytes)"
    if path.suffix.lower() not in _TABLES:
        return head
    with path.open("rb") as file:
        text = file.read(_READ_BYTES).decode("utf-8", "replace")
    lines = text.splitlines()[:_PREVIEW_LINES]
    return f"{head}, begins:\n{chr(10).join(lines)[:_PREVIEW_CHARACTERS]}"


def limits_text(limits: Limits, *, hosts: Sequence[str] = (), files: FilesMode = "keep") -> str:
    """What the notebook's code may use, said before it fails."""
    network = f"only to {', '.join(hosts)}" if hosts else "none: downloads, APIs and `pip install` fail"
    kept = {
        "keep": "changed files reach the project when the notebook closes",
        "drop": "changed files are forgotten when the notebook closes",
        "direct": "changed files reach the project at once",
    }[files]
    lines = [
        "The notebook's code runs in a sandbox:",
        f"- network: {network}",
        f"- memory {limits.memory_mb:,} MB, new files {limits.disk_mb:,} MB, {limits.processes} processes and threads",
        f"- files: the project and nothing else; {kept}",
        "- no browser, no display, no input(): nobody is there to type",
    ]
    if limits.cpu_seconds is not None:
        lines.append(f"- CPU time {limits.cpu_seconds:g} s in all")
    if limits.wall_seconds is not None:
        lines.append(f"- time {limits.wall_seconds:g} s in all")
    return "\n".join(lines)
