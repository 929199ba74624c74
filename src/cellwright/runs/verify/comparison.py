"""Whether two runs showed the same, after taking out what is provably not content."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.kernel import CellOutcome

DifferenceKind = Literal["output", "console", "status"]

_DIFF_LINES: Final = 12
_DIFF_CHARACTERS: Final = 160
_IN_BINARY: Final = re.compile(r";base64,[A-Za-z0-9+/=]*\Z")


NORMALISATIONS: Final[Mapping[str, re.Pattern[str]]] = {
    "object addresses": re.compile(
        r"((?:<|&lt;|\\u003c)[^<>\n]{1,200}? at )(0x[0-9a-fA-F]{6,16})(?=>|&gt;|\\u003e|[ ,])"
    ),
    "marimo's element tokens": re.compile(
        r"((?:random-id|object-id|data-model-id)=(?:&quot;|[\\\"'&#;x0-9]){1,12}?)"
        r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32})"
    ),
    "marimo's file names of cells": re.compile(r"(/tmp/marimo_)\d+(?=/__marimo__cell_)"),
    "pandas Styler ids": re.compile(r"(?<![\w-])T_[0-9a-f]{5}(?=[_\s\"'\\{])"),
}
"""What changes from run to run by design and says nothing; docs/verify.md lists the same.

The first group of a pattern, if it has one, stays in front of what is replaced.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparableOutput:
    """What a cell showed in one run, ready to compare."""

    status: str
    console: str
    mimetype: str
    body: str
    """The whole rich form; the bounded text where the rich form was too large to be sent."""
    text: str
    """For people."""
    is_whole: bool

    @property
    def sha256(self) -> str:
        """Over everything that is compared."""
        parts = (self.status, self.console, self.mimetype, self.body)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDifference:
    """Where two runs part."""

    what: DifferenceKind
    text: str


def comparable_output(outcome: CellOutcome) -> ComparableOutput:
    """A cell's outcome as it is compared."""
    output = outcome.output
    return ComparableOutput(
        status=outcome.status,
        console=normalised(outcome.console),
        mimetype=output.mimetype if output else "",
        body=normalised((output.data or output.text) if output else ""),
        text=normalised(output.text) if output else "",
        is_whole=not (output and output.is_cut and not output.data),
    )


def normalised(text: str) -> str:
    """The text without what changes by design; equal things stay equal, different things stay different."""
    for name, pattern in NORMALISATIONS.items():
        text = pattern.sub(_numbering(name, pattern), text)
    return text


def _numbering(name: str, pattern: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    """The first becomes 1, the second 2: two elements that were one in the other run are still told apart."""
    seen: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        kept = match[1] if pattern.groups else ""
        token = match[0][len(kept) :]
        return f"{kept}[{name} {seen.setdefault(token, len(seen) + 1)}]"

    return number


def difference(first: ComparableOutput, second: ComparableOutput) -> OutputDifference | None:
    """None when both runs showed the same."""
    if first.status != second.status:
        return OutputDifference(what="status", text=f"- {first.status}\n+ {second.status}")
    if (first.mimetype, first.body) != (second.mimetype, second.body):
        text = _lines(first.text, second.text) or _first_difference(first, second)
        return OutputDifference(what="output", text=text)
    if first.console != second.console:
        return OutputDifference(what="console", text=_lines(first.console, second.console))
    return None


def _lines(first: str, second: str) -> str:
    lines = [
        f"{line[0]} {line[1:][:_DIFF_CHARACTERS]}"
        for line in difflib.unified_diff(first.splitlines()[:2_000], second.splitlines()[:2_000], n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    more = [f"… {len(lines) - _DIFF_LINES} more lines"] if len(lines) > _DIFF_LINES else []
    return "\n".join(lines[:_DIFF_LINES] + more)


def _first_difference(first: ComparableOutput, second: ComparableOutput) -> str:
    """Both read the same; their rendered forms differ."""
    if first.mimetype != second.mimetype:
        return f"- {first.mimetype}\n+ {second.mimetype}"
    length = min(len(first.body), len(second.body))
    at = next((index for index in range(length) if first.body[index] != second.body[index]), length)
    if _IN_BINARY.search(first.body[:at]):
        return f"in the rendered {first.mimetype}: a picture, or another file in it, is not the same"
    start = max(0, at - 40)
    cut = [body[start : at + 60].replace("\n", " ") for body in (first.body, second.body)]
    return f"in the rendered {first.mimetype}, at character {at}:\n- …{cut[0]}…\n+ …{cut[1]}…"
