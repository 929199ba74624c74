"""File tools: list, read, search, write and edit files of the project; what was given as data is read like them."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from fnmatch import fnmatch
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
from pydantic import Field

from cellwright.errors import CellwrightError, UserError
from cellwright.journal.effects import EffectFinding, EffectFound, EffectNotFound
from cellwright.policy.actions import Action, ReadFile, WriteFile
from cellwright.tools.project_files import ProjectFiles
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolFailure, ToolResult, tool

MOST_READ_BYTES: Final = 4 << 20
MOST_WRITTEN_BYTES: Final = 2 << 20
_LISTED: Final = 400
_LINE_CHARACTERS: Final = 1_000
_HITS: Final = 100
_SEARCHED_FILES: Final = 20_000
_SEARCHED_BYTES: Final = 1 << 20

Changed = Callable[[], Awaitable[tuple[str, ...]]]
"""Paths that the notebook's code has changed in its cage and that are not in the project yet."""


async def _nothing_changed() -> tuple[str, ...]:
    return ()


def file_tools(files: ProjectFiles, *, changed: Changed = _nothing_changed) -> list[Tool]:
    """The tools for the files of this project."""
    return [_list_tool(files, changed), _read_tool(files, changed), _search_tool(files), *_writing(files)]


def _reading(files: ProjectFiles) -> Callable[[Any], Awaitable[Action | None]]:
    async def action(arguments: Any) -> Action | None:
        real = await anyio.to_thread.run_sync(files.locate, arguments.path)
        return None if files.is_given(real) else ReadFile(path=str(real))

    return action


def _list_tool(files: ProjectFiles, changed: Changed) -> Tool:
    @tool(action=_reading(files))
    async def list_files(path: str = ".", depth: Annotated[int, Field(ge=1, le=8)] = 2) -> ToolResult:
        """List a folder of the project with sizes. Secrets and the inside of .git are not shown."""
        folder = files.locate(path)
        found = await anyio.to_thread.run_sync(lambda: list(files.walk(folder, depth=depth)))
        lines = [f"{each.path}/" if each.is_folder else f"{each.path}  {each.size:,} bytes" for each in found[:_LISTED]]
        if len(found) > _LISTED:
            lines.append(f"… {len(found) - _LISTED} more; list a folder below, or search.")
        if unsaved := await changed():
            lines.append(f"Changed by the notebook's code, not in the project yet: {', '.join(unsaved[:50])}")
        value = [{"path": entry.path, "folder": entry.is_folder, "size": entry.size} for entry in found[:_LISTED]]
        return Done(text="\n".join(lines) or "It is empty.", value=value, is_untrusted=True)

    return list_files


def _read_tool(files: ProjectFiles, changed: Changed) -> Tool:
    @tool(action=_reading(files))
    async def read_file(
        path: str, from_line: Annotated[int, Field(ge=1)] = 1, lines: Annotated[int, Field(ge=1, le=2_000)] = 200
    ) -> ToolResult:
        """Read lines of a text file of the project. Of a big or binary file you get its size and beginning."""
        real = files.locate(path)
        try:
            content, size = await anyio.to_thread.run_sync(files.read, real, MOST_READ_BYTES)
        except CellwrightError:
            if files.name(real) in await changed():
                hint = "Read it in a cell, or with `shell`."
                return ToolError(kind="not-found", message=f"{path!r} is only in the notebook's cage yet.", hint=hint)
            raise
        return _shown(path, content, size, from_line, lines)

    return read_file


def _shown(path: str, content: bytes, size: int, from_line: int, lines: int) -> ToolResult:
    if b"\0" in content[:8_192]:
        start = content[:16].hex(" ")
        return Done(text=f"{path}: binary, {size:,} bytes, starts with {start}. Load it in a cell.", is_untrusted=True)
    found = content.decode("utf-8", "replace").splitlines()
    shown = [line[:_LINE_CHARACTERS] + ("…" if len(line) > _LINE_CHARACTERS else "") for line in found]
    shown = shown[from_line - 1 : from_line - 1 + lines]
    whole = size <= len(content)
    total = f"{len(found)}" if whole else f"more than {len(found)}"
    head = f"{path}: {size:,} bytes, lines {from_line}-{from_line + len(shown) - 1} of {total}"
    hint = "" if whole else f" (only the first {len(content):,} bytes can be read here; load it in a cell)"
    return Done(text=f"{head}{hint}\n" + "\n".join(shown), value="\n".join(shown), is_untrusted=True)


def _search_tool(files: ProjectFiles) -> Tool:
    @tool(action=_reading(files))
    async def search_files(
        text: Annotated[str, Field(min_length=1, max_length=500, description="Words as they stand there, any case.")],
        path: Annotated[str, Field(description="A folder of the project.")] = ".",
        names: Annotated[str, Field(description="Only files like this, e.g. *.py")] = "*",
    ) -> ToolResult:
        """Find lines that hold a text, in the text files of a folder."""
        hits = await anyio.to_thread.run_sync(_search, files, text, path, names)
        more = ["… and more; search for something rarer."] if len(hits) > _HITS else []
        return Done(text="\n".join([*hits[:_HITS], *more]) or "Nothing found.", value=hits[:_HITS], is_untrusted=True)

    return search_files


def _search(files: ProjectFiles, text: str, path: str, names: str) -> list[str]:
    wanted, hits, seen = text.casefold(), list[str](), 0
    for entry in files.walk(files.locate(path)):
        seen += 1
        if len(hits) > _HITS or seen > _SEARCHED_FILES:
            break
        # A search of a huge tree ends with the call that asked for it.
        anyio.from_thread.check_cancelled()
        if entry.is_folder or entry.size > _SEARCHED_BYTES or not fnmatch(entry.path.rpartition("/")[2], names):
            continue
        content, _ = files.read(entry.real, _SEARCHED_BYTES)
        if b"\0" not in content[:8_192]:
            lines = content.decode("utf-8", "replace").splitlines()
            found = [number for number, line in enumerate(lines, 1) if wanted in line.casefold()]
            hits += [f"{entry.path}:{number}: {lines[number - 1].strip()[:300]}" for number in found[:_HITS]]
    return hits


# ── writing ──


def _writing(files: ProjectFiles) -> list[Tool]:
    def make(path: str, content: str, overwrite: bool) -> tuple[str, str]:
        """The text before and after. Raises `UserError`."""
        before = _text_of(files, path)
        if before is not None and not overwrite:
            hint = "Use `edit_file`, or say overwrite=true."
            raise ToolFailure(f"{path!r} exists already.", kind="conflict", hint=hint)
        return before or "", content

    async def write_action(arguments: Any) -> Action:
        before, after = await anyio.to_thread.run_sync(make, arguments.path, arguments.content, arguments.overwrite)
        return _write_action(files, arguments.path, before, after)

    async def was_written(arguments: Any, _: CallContext) -> EffectFinding:
        now = await anyio.to_thread.run_sync(_text_of, files, arguments.path)
        return EffectFound() if now == arguments.content else EffectNotFound()

    @tool(action=write_action, needs="write-file", changes=True, find=was_written)
    async def write_file(
        path: str, content: Annotated[str, Field(max_length=MOST_WRITTEN_BYTES)], overwrite: bool = False
    ) -> ToolResult:
        """Make a text file in the project, or replace one whole. Not for the notebook: use `apply`."""
        if await anyio.to_thread.run_sync(_text_of, files, path) is not None and not overwrite:
            return ToolError(kind="conflict", message=f"{path!r} was made by somebody else meanwhile.")
        await anyio.to_thread.run_sync(_write, files, path, content)
        return Done(text=f"Wrote {path}: {len(content.encode('utf-8', 'replace')):,} bytes.")

    async def edit_action(arguments: Any) -> Action:
        before, after = await anyio.to_thread.run_sync(_edited, files, arguments.path, arguments.old, arguments.new)
        return _write_action(files, arguments.path, before, after)

    async def was_edited(arguments: Any, _: CallContext) -> EffectFinding:
        now = await anyio.to_thread.run_sync(_text_of, files, arguments.path) or ""
        is_done = arguments.new in now if arguments.old in arguments.new else arguments.old not in now
        return EffectFound() if is_done else EffectNotFound()

    @tool(action=edit_action, needs="write-file", changes=True, find=was_edited)
    async def edit_file(path: str, old: Annotated[str, Field(min_length=1)], new: str) -> ToolResult:
        """Replace a text in a file of the project. `old` must stand there exactly once."""
        _, after = await anyio.to_thread.run_sync(_edited, files, path, old, new)
        await anyio.to_thread.run_sync(_write, files, path, after)
        return Done(text=f"Edited {path}.")

    return [write_file, edit_file]


def _text_of(files: ProjectFiles, path: str) -> str | None:
    """The file's text; None if there is none."""
    real = files.locate(path, to_write=True)
    if not real.exists():
        return None
    content, size = files.read(real, MOST_WRITTEN_BYTES + 1)
    if size > MOST_WRITTEN_BYTES:
        message = f"{path!r} is too big to be changed here: {size:,} bytes."
        raise ToolFailure(message, kind="too-big", hint="Change it in a cell.")
    return content.decode("utf-8", "surrogateescape")


def _edited(files: ProjectFiles, path: str, old: str, new: str) -> tuple[str, str]:
    before = _text_of(files, path)
    if before is None:
        raise ToolFailure(f"There is no file {path!r}.", kind="not-found", hint="Make it with `write_file`.")
    if old not in before:
        raise ToolFailure(f"The text does not stand in {path!r}.", kind="conflict", hint="Read the file again.")
    if (count := before.count(old)) > 1:
        hint = "Give more of the text around it."
        raise UserError(f"The text stands {count} times in {path!r}, not once.", hint=hint)
    return before, before.replace(old, new)


def _write(files: ProjectFiles, path: str, text: str) -> None:
    files.write(files.locate(path, to_write=True), text.encode("utf-8", "surrogateescape"))


def _write_action(files: ProjectFiles, path: str, before: str, after: str) -> Action:
    real = files.locate(path, to_write=True)
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return WriteFile(path=str(real), diff="\n".join(lines).encode("utf-8", "replace").decode())
