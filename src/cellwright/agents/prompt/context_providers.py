"""What an agent sees without asking: the notebook, files it may want, and the limits its code runs under.

Looked at once in every step, inside a journal step: what was seen is kept, so a replayed step reads the same.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final, Protocol

import anyio
import anyio.to_thread

from cellwright.agents.prompt.prompt import PromptPart, Rank, Weight
from cellwright.agents.role import Sight
from cellwright.data.catalogue_text import catalogue_text
from cellwright.data.files import DataFile
from cellwright.data.messages import ReadSchema
from cellwright.errors import CellwrightError
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.profiler import ProfileLimits, Profiler
from cellwright.notebook.prompt_summary import clip, estimate_tokens
from cellwright.profiles.data_search import rebase, secrets_among
from cellwright.profiles.profile import Profile, goal_words, one_line, with_others
from cellwright.profiles.profile_text import profile_text
from cellwright.sandbox.spec import FilesMode, Limits
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.sql_tools import SqlAccess

_log = logging.getLogger(__name__)
_NOTEBOOK_LEAST_TOKENS: Final = 300
_PREVIEW_LINES: Final = 6
_PREVIEW_CHARACTERS: Final = 600
_READ_BYTES: Final = 8_192
_MANY_FILES: Final = 12
_MOST_NAMES: Final = 200
_CATALOGUE_TOKENS: Final = 1_600
_HOW_TO_ASK: Final = """\
Databases: `import cellwright_cells as cellwright` and `{name} = cellwright.connection("{name}")` in a cell, then
`{name}.sql("select …")` gives an Arrow table (`.to_pandas()`). Let the database count and sum; fetch rows
only where you need them."""
DATA_SHARE: Final = 0.125
"""Of the tokens a role may read, so much is for its data, in every step."""
_KNOWN_PACKAGES: Final = (
    "pandas", "numpy", "polars", "duckdb", "pyarrow", "scipy", "scikit-learn", "statsmodels", "matplotlib", "seaborn",
    "altair", "plotly", "openpyxl", "sqlglot", "networkx", "pillow",
)  # fmt: skip
_PROFILE_LIMITS: Final = ProfileLimits(most_rows=100_000, most_files=40, seconds=12)
_PROFILE_TIMEOUT_SECONDS: Final = 75
_MOST_GUIDES: Final = 2
_MOST_NOTES: Final = 4
_NOTE_BYTES: Final = 4_096
_NOTE_LINES: Final = 2
_NOTE_CHARACTERS: Final = 160
_TEXTS: Final = frozenset({".txt", ".md", ".rst"})
_PRIVATE: Final = re.compile(r"passw|secret|token|credential|private|(?:^|[^a-z])keys?(?:[^a-z]|$)", re.IGNORECASE)
"""A file of such a name is not quoted unasked."""
_TEXT_REASONS: Final = frozenset({"it is text, but no table", "it is a document, no table"})
_GUIDE: Final = re.compile(
    r"(?:^|/)[^/.]*(?:read_?me|code_?book|dictionary|metadata|description)[^/]*\.(?:md|txt|rst)$", re.IGNORECASE
)
_TABLES: Final = frozenset(
    {".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".md", ".rst", ".yaml", ".yml", ".toml"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextView:
    """One look around."""

    parts: tuple[PromptPart, ...] = ()
    """Everything here is data: it is fenced before a model reads it."""
    news: str = ""
    """What others did meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Onlooker:
    """Who looks, and what for: the same in every step of an assignment."""

    goal: str = ""
    context_tokens: int = 24_000
    """What it may read in a step."""
    remembers: bool = False
    """Whether what it saw and did before stands in the same prompt."""


_ANYBODY: Final = Onlooker()


class ContextProvider(Protocol):
    """Something an agent sees in every step."""

    shows: ClassVar[Sight]

    async def view(self, tokens: int, onlooker: Onlooker = ...) -> ContextView:
        """What there is to see now, within so many tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class NotebookContext:
    """The notebook as it is now: cells, graph, outcomes."""

    shows: ClassVar[Sight] = "notebook"
    editor: NotebookEditor

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """The notebook in words, and what people changed in it; to one who remembers it, a line for each cell."""
        await self.editor.sync()
        summary = self.editor.notebook.summary(budget_tokens=tokens, is_brief=onlooker.remembers)
        part = PromptPart(name="notebook", text=summary, weight=Weight.STRONG, least_tokens=_NOTEBOOK_LEAST_TOKENS)
        return ContextView(parts=(part,), news=self.editor.pop_news())


@dataclass(frozen=True, slots=True, eq=False)
class PackagesContext:
    """The packages that are there: nobody needs to be asked for them, and they need not be tried."""

    shows: ClassVar[Sight] = "packages"
    editor: NotebookEditor

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """Those that matter by name and version, the others by their number."""
        live = self.editor.notebook.live
        if live.provisioner.environment is None and header_of(self.editor.notebook.document.header) is not None:
            # Its own are not built yet; what the header names stands in the notebook.
            return ContextView()
        there = await live.distributions()
        known = [f"{name} {there[name]}" for name in _KNOWN_PACKAGES if name in there]
        more = len(there) - len(known)
        text = f"Installed: {', '.join(known)}; {more} more, see `look` with what=packages"
        return ContextView(parts=(PromptPart(name="packages", text=text, rank=Rank.ASSIGNMENT, weight=Weight.STRONG),))


@dataclass(slots=True, eq=False)
class DataContext:
    """Data, each file with what a profile says of it: no turn is spent on looking. Without a profile, first lines."""

    shows: ClassVar[Sight] = "data"
    data: Sequence[DataFile]
    profiler: Profiler | None
    """None once it has failed: it would fail, and cost as much, in every step."""
    others: Sequence[str] = ()
    """Files that are not looked into, by name."""
    named: Sequence[str] = ()
    """Files and folders that a person named for the goal: they are told at length, others in a line."""
    _latest: Profile | None = None

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """The profile, and the beginning of each file that is not in it.

        Always with the same share of what the onlooker may read, most of it about what its goal speaks of. It stands
        before the history, so what stays the same costs less than what is shorter.
        """
        room = int(onlooker.context_tokens * DATA_SHARE)
        profile = await self._profile(onlooker.goal)
        tables = profile.tables if profile is not None else ()
        known = {path for table in tables for path in (table.reading.path, *table.files)}
        known |= {path for shape in (profile.shapes if profile is not None else ()) for path in shape.files}
        known |= {str(folder) for path in known for folder in PurePosixPath(path).parents}
        bare = [file for file in self.data if file.place not in known]
        previews = await anyio.to_thread.run_sync(lambda: [preview_data(file) for file in bare[:_MANY_FILES]])
        if profile is not None:
            texts = await anyio.to_thread.run_sync(small_texts, profile, self.data)
            previews += texts.values()
            profile = with_others(profile, texts)
        rest = [*(file.place for file in bare[_MANY_FILES:]), *self.others]
        if rest:
            previews.append(f"{len(rest)} more files: {', '.join(map(one_line, rest[:50]))}")
        begun = clip("\n\n".join(previews), room // 2 if profile else room)
        left = room - estimate_tokens(begun) - 1
        told = profile_text(profile, tokens=left, goal=onlooker.goal, named=self.named) if profile else ""
        text = "\n\n".join(filter(None, (told, begun)))
        return ContextView(parts=(PromptPart(name="data", text=text, rank=Rank.ASSIGNMENT, least_tokens=100),))

    def encodings(self) -> dict[str, str]:
        """The files that are no UTF-8, each with its encoding, as they were looked at last."""
        profile = self._latest
        if profile is None:
            return {}
        read = [(table.reading, table.files or (table.reading.path,)) for table in profile.tables]
        read += [(shape.reading, shape.files) for shape in profile.shapes]
        texts = ((reading.encoding, files) for reading, files in read if reading.format == "csv")
        return {path: encoding for encoding, files in texts if encoding != "utf-8" for path in files}

    async def _profile(self, goal: str) -> Profile | None:
        """As the files are now; an agent neither waits long for it nor fails without."""
        if self.profiler is None or not self.data:
            return None
        there = await anyio.to_thread.run_sync(lambda: [file for file in self.data if file.source.exists()])
        try:
            with anyio.fail_after(_PROFILE_TIMEOUT_SECONDS):
                limits = replace(_PROFILE_LIMITS, words=goal_words(goal))
                self._latest = await self.profiler.profile(there, limits)
                return self._latest
        except (CellwrightError, TimeoutError) as error:
            _log.info("No profile of the data: %s", error)
            self.profiler = None
            return None


@dataclass(slots=True, eq=False)
class ConnectionsContext:
    """Databases that were named for the work: of each the tables that the goal is about, and how a cell asks them."""

    shows: ClassVar[Sight] = "data"
    connections: SqlAccess
    names: Sequence[str] | None = None
    """Those that are databases; None: all that were named."""

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """Always with the same share for each: it stands before the history."""
        names = sorted(self.connections.named if self.names is None else self.names)
        texts = [await self._text(name, onlooker.goal, _CATALOGUE_TOKENS // len(names)) for name in names]
        text = "\n\n".join([_HOW_TO_ASK.format(name=names[0]), *texts])
        part = PromptPart(name="connections", text=text, rank=Rank.ASSIGNMENT, least_tokens=200)
        return ContextView(parts=(part,))

    async def _text(self, name: str, goal: str, tokens: int) -> str:
        try:
            catalogue = await self.connections.schema(ReadSchema(connection=name))
        except CellwrightError as error:
            return f"{name}: it cannot be read now. {error.message} {error.hint}"
        return catalogue_text(catalogue, goal, connection=name, most_tokens=tokens)


def preview_data(data: DataFile) -> str:
    """A file's name, size and first lines; of a folder what is in it. Blocking."""
    source = data.source
    if not source.is_dir():
        return f"{one_line(data.place)}{preview_file(source.parent, source.name).removeprefix(source.name)}"
    inside = sorted(path.name for path in islice(source.iterdir(), _MOST_NAMES) if not path.name.startswith("."))
    return f"{one_line(data.place)}/: a folder with {', '.join(map(one_line, inside)) or 'nothing'}"


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


def small_texts(profile: Profile, data: Sequence[DataFile]) -> dict[str, str]:
    """The beginnings of small texts in folders, by path; of those that say what the others are, more. Blocking."""
    unread = (each.path for each in profile.skipped if each.why in _TEXT_REASONS)
    found = {path: source for path in (*profile.others, *unread) if (source := _text_source(path, data)) is not None}
    secrets = secrets_among([*found.values()])
    open_to_all = {path: source for path, source in found.items() if source not in secrets}
    guides = [path for path in open_to_all if _GUIDE.search(path)][:_MOST_GUIDES]
    told = {
        path: f"{one_line(path)}{preview_file(source.parent, source.name).removeprefix(source.name)}"
        for path, source in open_to_all.items()
        if path in guides
    }
    notes = {path: source for path, source in open_to_all.items() if path not in guides}
    small = {path: first_lines(source) for path, source in islice(notes.items(), _MOST_NOTES)}
    return told | {path: f"{one_line(path)}: {lines}" for path, lines in small.items() if lines}


def _text_source(path: str, data: Sequence[DataFile]) -> Path | None:
    """Where a text in one of the folders lies on this machine; None: it is no text that may be told."""
    if PurePosixPath(path).suffix.lower() not in _TEXTS or _PRIVATE.search(path) or "/." in path:
        return None
    named = rebase(path, {file.place: str(file.source.resolve()) for file in data if file.is_folder})
    # It was told in a cage: a way out of the folder that was given, by `..` or by a link, is none.
    return Path(named) if named is not None and Path(named).resolve() == Path(named) else None


def first_lines(path: Path) -> str:
    """The first lines of a small text, quoted on one line; nothing of a large one, or a link. Blocking."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _NOTE_BYTES:
        return ""
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    few = [line.strip() for line in lines if line.strip()][:_NOTE_LINES]
    return repr(one_line(" / ".join(few), _NOTE_CHARACTERS)) if few else ""


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
