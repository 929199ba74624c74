"""What a person's prompt says: its words, the files it names in the folder, and what of it cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from acp import schema

from cellwright.data.files import is_data_file
from cellwright.errors import CellwrightError, UserError
from cellwright.runs.goal.request import LONGEST
from cellwright.tools.project_files import ProjectFiles

_MOST_FILES: Final = 50
_EMBEDDED: Final = 6_000
"""Characters of one embedded text."""
_NOTEBOOK_BYTES: Final = 1 << 16
_OF_OTHER_AGENTS: Final = frozenset({"marimo_rules.md"})
"""What marimo's panel sends along for agents that edit notebooks by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWords:
    """A prompt, read."""

    words: str
    data: tuple[str, ...] = ()
    """Files of the folder, relative to it."""
    notebook: str | None = None
    """A marimo notebook of the folder that it links to."""
    notes: tuple[str, ...] = ()
    """What of it is not used, and why."""


def read_prompt(blocks: Sequence[Any], folder: Path) -> PromptWords:
    """Raises `UserError` for one without words. Blocking."""
    words, data, notes, notebook = list[str](), list[str](), list[str](), None
    files = ProjectFiles(folder)
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                words.append(text)
            case schema.ResourceContentBlock(uri=uri, name=name):
                found = _inside(files, uri)
                if found is None:
                    notes.append(f"{_short(name)} is not a file of this folder, and is not used.")
                elif is_notebook(folder / found):
                    notebook = found
                elif _is_data(folder, found) and len(data) < _MOST_FILES:
                    data.append(found)
                else:
                    words.append(f"(This is about the file {found}.)")
            case schema.EmbeddedResourceContentBlock(resource=resource):
                text = _embedded(resource, files, folder, data)
                words += [text] if text else []
            case _:
                notes.append(f"A part of the prompt ({_short(block.type)}) cannot be used here.")
    said = "\n\n".join(filter(str.strip, words))
    if not said:
        raise UserError("The prompt has no words.", hint="Say what is wanted.")
    return PromptWords(words=said[:LONGEST], data=tuple(dict.fromkeys(data)), notebook=notebook, notes=tuple(notes))


def is_notebook(path: Path) -> bool:
    """Whether it looks like a marimo notebook. Blocking."""
    if path.suffix != ".py":
        return False
    try:
        with path.open("rb") as file:
            return b"marimo.App(" in file.read(_NOTEBOOK_BYTES)
    except OSError:
        return False


def _embedded(resource: Any, files: ProjectFiles, folder: Path, data: list[str]) -> str:
    """What an embedded resource adds to the words; a data file of the folder is read where it lies."""
    found = _inside(files, resource.uri)
    if found is not None and _is_data(folder, found):
        data.append(found)
        return ""
    if not isinstance(resource, schema.TextResourceContents) or resource.uri in _OF_OTHER_AGENTS:
        return ""
    text = resource.text
    cut = text if len(text) <= _EMBEDDED else f"{text[:_EMBEDDED]}… ({len(text) - _EMBEDDED:,} more characters)"
    return f"{found or _short(resource.uri)}:\n{cut}"


def _inside(files: ProjectFiles, uri: str) -> str | None:
    """The path in the folder of what is there and may be read; None: it is none."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme not in {"", "file"} or parts.netloc not in {"", "localhost"}:
        return None
    path = unquote(parts.path)
    try:
        real = files.locate(path)
    except CellwrightError:
        return None
    return str(real.relative_to(files.root)) if real.exists() and real != files.root else None


def _is_data(folder: Path, path: str) -> bool:
    return is_data_file(path, "folder") or (folder / path).is_dir()


def _short(text: str) -> str:
    return repr(text[:200])
