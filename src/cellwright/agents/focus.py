"""What a model needs to mend one failure, and nothing else: one kind of advice per class, and what it is about.

The words are ours and hold nothing that was read from data; the material is data, and is fenced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final, assert_never

from cellwright.agents.certain_mends import near_columns, near_files
from cellwright.agents.context import Part, Weight, fence
from cellwright.agents.failure_rules import FailureKind
from cellwright.agents.failures import Failure
from cellwright.agents.recoveries import Focused, Material, Scene
from cellwright.notebook import clip, graph

_CODE_TOKENS: Final = 700
_ERROR_TOKENS: Final = 400
_PREVIEW_TOKENS: Final = 150
_PREVIEWS: Final = 4
_NAMES: Final = 12
_KEEP_THE_GOAL: Final = "Do not make the goal smaller to get past it."


def focus(failure: Failure, scene: Scene) -> Focused:
    """What to tell a model about this failure."""
    return Focused(words=f"{_advice(failure)} {_KEEP_THE_GOAL}", material=tuple(_material(failure, scene)))


def focus_parts(focused: Focused, nonce: str) -> list[Part]:
    """The same for a prompt, all of the material fenced."""
    parts = [Part(name="mending", text=f"{focused.words}\n", weight=Weight.STRONG)]
    return parts + [
        Part(
            name=f"mending: {material.name}",
            text=fence(material.text, nonce=nonce, source=material.name) + "\n",
            weight=Weight.STRONG,
        )
        for material in focused.material
    ]


def _advice(failure: Failure) -> str:
    if failure.kind == "resource":
        return _resource(failure.subject)
    if failure.error_type == "unavailable":
        return "It was not there at that moment. Try once more; if it stays so, do without it, or say that you cannot."
    return _words(failure.kind)


def _words(kind: FailureKind) -> str:
    match kind:
        case "syntax":
            return "The code cannot be read. Mend exactly the place that the error names, in the same cell."
        case "name-conflict":
            return (
                "A global name must be defined by exactly one cell. Names that only this cell needs begin with `_`; a "
                "value that is changed step by step gets a new name per step, or the steps go into one cell; cells "
                "that need each other are joined or cut apart. A name that no cell defines is misspelt or missing."
            )
        case "missing-package":
            return "This module is not there. Use what is installed, or ask for the package that holds it."
        case "missing-file":
            return "There is no file at this path. Take one that exists; if none fits, ask. Never make up its content."
        case "missing-column":
            return "There is no column, key or table of this name. Take one that exists; look at the data if unsure."
        case "type-shape":
            return (
                "A value is not what the code takes it for: its type, its shape or what it can do. Look at the value, "
                "find where it became so, and mend that place rather than convert at the end."
            )
        case "resource":
            return _resource("")
        case "time-out":
            return (
                "It took longer than it was given. Give it more `seconds` if it is simply long, or do the same faster: "
                "vectorise, read only the columns needed, join before you loop. Edit this cell instead of adding a "
                "second one. If only less data would do, say so and ask first."
            )
        case "network-refused":
            return (
                "The notebook cannot reach this host. Use what is in the project; if it must come from there, ask the "
                "person, naming the host. Do not try other ways out."
            )
        case "flaky":
            return (
                "The same code fails at one time and passes at another. Make it certain: a fixed seed, an order that "
                "is stated, a retry with a limit around what is outside."
            )
        case "failed-check":
            return (
                "A check does not hold. Find out which is wrong, the result or the check, from the data. Never weaken, "
                "catch or delete a check to get past it."
            )
        case "kernel-lost":
            return (
                "The kernel ended while this cell ran; another one starts with the next call and runs what had run. "
                "Do what the cell does in another way, in smaller steps: run again unchanged it will end again."
            )
        case "edit-refused":
            return (
                "Nothing was changed: what you wanted to change is not as you read it. Look at it as it is now, base "
                "the change on that, and keep what somebody else did."
            )
        case "refused":
            return "It was not allowed. Do not try to get there in another way."
        case "unknown":
            return "Read the error and the values it met before you change anything; mend the cause."
        case _:
            assert_never(kind)


def _resource(what: str) -> str:
    match what:
        case "disk" | "files":
            return "The code may not write there, or not so much. Keep it in memory, or write less, into the project."
        case "processes":
            return "Too many threads, processes or open files. Use fewer at once and close what is done."
        case "recursion":
            return "It calls itself too often. Use a loop, or find why it does not end."
        case _:
            return (
                "It needs more memory than there is. First do the same in less: only the columns needed, smaller "
                "types, chunks, an aggregation while reading. A sample is a smaller goal: say so, and ask before you "
                "use one."
            )


# ── material ──


def _material(failure: Failure, scene: Scene) -> Iterator[Material]:
    cell = scene.document.find(failure.cell) if failure.cell is not None else None
    if cell is not None:
        yield Material(name=f"cell {cell.id} version {cell.version}", text=clip(cell.code, _CODE_TOKENS))
    line = f" in line {failure.line}" if failure.line is not None else ""
    yield Material(name="error", text=f"{failure.error_type}{line}: {clip(failure.message, _ERROR_TOKENS)}")
    match failure.kind:
        case "missing-file":
            yield from _listed("files of the project, nearest first", _nearest_files(failure, scene))
        case "missing-column" | "type-shape":
            yield from _listed("names there are, nearest first", _nearest_columns(failure, scene))
            yield from _previews(failure, scene)
        case "name-conflict":
            yield from _listed("cells that define it", _defining(failure, scene))
        case "failed-check" | "unknown" | "resource" | "time-out":
            yield from _previews(failure, scene)
        case "edit-refused" if failure.evidence:
            yield Material(name="the cell now", text=clip(failure.evidence[0], _CODE_TOKENS))
        case _:
            pass


def _listed(name: str, found: Sequence[str]) -> Iterator[Material]:
    if found:
        yield Material(name=name, text="\n".join(found))


def _nearest_files(failure: Failure, scene: Scene) -> list[str]:
    same = near_files(failure.subject, scene.files)
    return _nearest(failure.subject, [*same, *scene.files])


def _nearest_columns(failure: Failure, scene: Scene) -> list[str]:
    known = [column for columns in scene.columns.values() for column in columns] or list(failure.evidence)
    near = [column for subject in failure.subjects for column in near_columns(subject, known)]
    return [repr(column) for column in _nearest(failure.subject, [*near, *known])]


def _nearest(wanted: str, known: Sequence[str]) -> list[str]:
    close = get_close_matches(wanted, known[:5_000], n=_NAMES, cutoff=0.6) if wanted else []
    return list(dict.fromkeys([*close, *known]))[:_NAMES]


def _defining(failure: Failure, scene: Scene) -> list[str]:
    nodes = graph(scene.document).nodes
    return [
        f"{name}: {', '.join(cell for cell, node in nodes.items() if name in node.defs) or 'no cell'}"
        for name in failure.subjects[:_NAMES]
    ]


def _previews(failure: Failure, scene: Scene) -> Iterator[Material]:
    """The variables the cell reads, and only those."""
    node = graph(scene.document).nodes.get(failure.cell) if failure.cell is not None else None
    wanted = node.refs if node is not None else frozenset[str]()
    read = [preview for preview in scene.previews if preview.name in wanted and preview.kind not in _DULL]
    for preview in read[:_PREVIEWS]:
        yield Material(name=f"variable {preview.name}: {preview.type}", text=clip(preview.text, _PREVIEW_TOKENS))


_DULL: Final = frozenset({"module", "function"})
