"""What a person reads before a project's roles and skills count: all that agents would be told, as untrusted data.

Every line of the project's own stands behind a bar, broken before a terminal breaks it, with nothing invisible in it:
none can pass for one of ours.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from cellwright.agents.project_additions import Addition
from cellwright.agents.role import built_in_roles
from cellwright.agents.trust_store import Acceptance, TrustedProject
from cellwright.policy.display_text import shown, shown_block

BAR: Final = "│ "
_GOES_ON: Final = "┊ "
_WIDEST_NAME: Final = 40
_WIDEST: Final = 76
"""Columns. A line that a terminal breaks would go on where ours begin."""
_MOST_CHARACTERS: Final = 40_000
"""Shown of one file: all of a role."""
_MOST_LINES_COMPARED: Final = 2_000
"""Finding the differences of texts that were made for it takes time that grows with their square."""
Mask = Callable[[str], str]


def question_text(seen: TrustedProject, mask: Mask) -> str:
    """Exactly what is offered, and what each answer means."""
    lines = [
        f"May agents go by {counted(seen.offered)} of this project?",
        f"Project: {shown(str(seen.project))}",
        f'They are files of the project, shown behind "{BAR.strip()}": nothing there is said by Cellwright.',
    ]
    for addition in seen.offered:
        lines += ["", *describe(addition, seen.before.get(addition.path), mask)]
    lines += ["", "Accepted, exactly these count in this run and later ones, until one of them changes."]
    return "\n".join(lines)


def counted(additions: Sequence[Addition]) -> str:
    """How many roles and skills these are."""
    counts = [(sum(each.kind == kind for each in additions), kind) for kind in ("role", "skill")]
    return " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in counts if count)


def title(addition: Addition) -> str:
    """What it is called, and where it lies."""
    return f"{addition.kind} {addition.name!r} ({shown(addition.path)})"


def describe(addition: Addition, before: Acceptance | None, mask: Mask) -> list[str]:
    """Everything about one: what it may use, and its text, or how it differs from what was accepted."""
    is_ours = addition.kind == "role" and addition.name in built_in_roles()
    replaces = ", IN PLACE OF the built-in role of that name" if is_ours else ""
    lines = [f"{addition.kind.capitalize()} {addition.name!r}{replaces}", f"Path: {_cut(addition.path)}"]
    if before is not None:
        lines.append(f"Changed since {shown(before.by)} accepted it on {before.at:%Y-%m-%d}; + is new, - is gone.")
    lines += _head(addition, mask)
    old = before.addition.files if before is not None else {}
    for name in sorted({*old, *addition.files}):
        lines += _file(name, old.get(name), addition.files.get(name), mask)
    lines += [f"File {_cut(name)}: too large, never given to agents" for name in addition.too_large]
    return lines


def _head(addition: Addition, mask: Mask) -> list[str]:
    if addition.kind == "skill":
        return ["Description:", *_barred(mask(addition.skill().description))]
    role = addition.role()
    tools = ["Tools: every tool"] if "*" in role.tools else ["Tools:", *_barred(" ".join(role.tools) or "(none)")]
    return [
        "Description:",
        *_barred(mask(role.description)),
        *tools,
        f"Model: {role.tier}, at most {role.steps:,} steps and {role.tokens:,} tokens",
    ]


def _file(name: str, old: str | None, new: str | None, mask: Mask) -> list[str]:
    """Masked before they are compared: a secret that spans two lines of a difference is one no more."""
    if old == new:
        return [f"File {_cut(name)}: as it was"] if name else []
    before, after = mask(old or ""), mask(new or "")
    heading = [f"File {_cut(name)}:" if new is not None else f"File {_cut(name)}: gone"] if name else ["Text:"]
    if old is None or new is None:
        return heading if new is None else [*heading, *_barred(after)]
    lines = before.splitlines(), after.splitlines()
    if max(map(len, lines)) > _MOST_LINES_COMPARED:
        return [*heading, "Too long to be compared; all of it as it is now:", *_barred(after)]
    difference = [*difflib.unified_diff(*lines, lineterm="", n=3)][2:]
    # Such a change is in how its lines end, or behind a mask.
    return [*heading, *(_barred("\n".join(difference)) if difference else ["changed in what cannot be shown"])]


def _barred(text: str) -> Iterable[str]:
    for line in shown_block(text[:_MOST_CHARACTERS]).removesuffix("\n").split("\n"):
        for number, piece in enumerate(_pieces(line, _WIDEST)):
            yield f"{_GOES_ON if number else BAR}{piece}".rstrip(" ")
    if (more := len(text) - _MOST_CHARACTERS) > 0:
        yield f"… and {more:,} characters that are not shown here: read the file itself before you accept it."


def _cut(name: str) -> str:
    """As much of a name as cannot reach the end of a terminal's line."""
    first, *more = _pieces(shown(name), _WIDEST_NAME)
    return f"{first}{'…' if more else ''}"


def _pieces(line: str, widest: int) -> Iterable[str]:
    """The line in pieces that fit; some letters take two columns."""
    begin, width = 0, 0
    for end, letter in enumerate(line):
        columns = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        width += columns
        if width > widest:
            yield line[begin:end]
            begin, width = end, columns
    yield line[begin:]
