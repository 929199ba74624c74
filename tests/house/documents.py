"""Code blocks of a page, and what happens when a reader types them in.

A page is one sitting: its blocks run in order, in one folder that holds a copy of `examples/`.

- `python` runs as a script, `bash` as a script whose every command is `cellwright …`, and of a `console` block the
  lines behind `$ `.
- A block with a title (` ```json title="edits.json" `) becomes a file of that name.
- `<!-- expect: words -->` right above a block: the words must stand in what it prints. `<!-- exit: 1 -->`: how it ends.
- Every other language is only read.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.places import VENV_BIN

DEADLINE_SECONDS = 120

_FENCE = re.compile(
    r"(?P<notes>(?:^[ ]*<!--(?:(?!-->).)*-->[ ]*\n)*)"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)(?P<attributes>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    line: int
    language: str
    text: str
    title: str = ""
    expect: tuple[str, ...] = ()
    exit_code: int = 0


class NotRunnable(Exception):
    """A block that looks as if it ran, and would not."""


def read_blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [_block(page, match) for match in _FENCE.finditer(page)]


def run_page(page: str, folder: Path) -> list[str]:
    """Run a page's blocks in `folder`; what went otherwise than the page says."""
    return [complaint for block in read_blocks(page) for complaint in _run(block, folder)]


def script_of(block: Block) -> list[str] | None:
    """The command line that runs a block; None for one that is only read."""
    match block.language:
        case _ if block.title:
            return None
        case "python":
            return [sys.executable, "-c", block.text]
        case "bash":
            return _shell(block, block.text)
        case "console":
            typed = [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
            return _shell(block, "\n".join(typed))
        case _:
            return None


def _block(page: str, match: re.Match[str]) -> Block:
    notes = match["notes"]
    title = re.search(r'title="([^"]+)"', match["attributes"])
    exit_code = re.search(r"<!-- exit: (\d+) -->", notes)
    return Block(
        line=page.count("\n", 0, match.start("indent")) + 1,
        language=match["language"],
        text=textwrap.dedent(match["body"]),
        title=title[1] if title else "",
        expect=tuple(re.findall(r"<!-- expect: (.*?) -->", notes)),
        exit_code=int(exit_code[1]) if exit_code else 0,
    )


def _shell(block: Block, text: str) -> list[str]:
    commands = text.replace("\\\n", " ").splitlines()
    strange = [line for line in commands if line.strip() and not re.match(r"cellwright |#", line)]
    if strange or not text.strip():
        raise NotRunnable(f"line {block.line}: {strange} does not start with `cellwright `; mark the block `text`")
    return ["bash", "-euo", "pipefail", "-c", text]


def _run(block: Block, folder: Path) -> Iterator[str]:
    if block.title:
        (folder / block.title).write_text(block.text, encoding="utf-8")
    command = script_of(block)
    if command is None:
        return
    ran = subprocess.run(
        command,
        cwd=folder,
        env=os.environ
        | {
            "PATH": f"{VENV_BIN}{os.pathsep}{os.environ['PATH']}",
            "CELLWRIGHT_HOME": str(folder.parent / "state"),
            "NO_COLOR": "1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    if ran.returncode != block.exit_code:
        yield f"line {block.line}: exit {ran.returncode}, not {block.exit_code}\n{ran.stdout}"
    for words in block.expect:
        if words not in ran.stdout:
            yield f"line {block.line}: {words!r} is not in\n{ran.stdout}"
