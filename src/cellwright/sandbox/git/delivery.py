"""What is asked of the cage and what it answers. The answer is a stranger's: every field is checked here."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args

from cellwright.errors import Unavailable, UserError
from cellwright.sandbox.git.objects import Format, ObjectKind, Unsound, as_kind

Want = Literal["status", "diff", "tree", "commit"]
WorkKind = Literal["new", "changed", "deleted"]
Objects = Mapping[str, tuple[ObjectKind, bytes]]

MOST_FILE_BYTES: Final = 20 << 20
"""A longer file is left out of a commit, and said so."""
MOST_DELIVERED_BYTES: Final = 128 << 20
MOST_OBJECTS: Final = 50_000
MOST_CHANGES: Final = 20_000
MOST_PATCH_BYTES: Final = 4 << 20
MOST_SHOWN_FILE_BYTES: Final = 1 << 20
"""A longer file is not shown line by line to whoever approves a commit."""
_LENGTH: Final = struct.Struct(">I")
_MOST_HEADER_BYTES: Final = 32 << 20
MOST_ANSWER_BYTES: Final = MOST_DELIVERED_BYTES + _MOST_HEADER_BYTES + _LENGTH.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One errand of git's."""

    want: Want
    """`status`: what changed; `diff`: also as a patch; `tree`: with what a person must see; `commit`: only that one."""
    commit: str = ""
    paths: tuple[str, ...] = ()
    """Files and directories below the working tree's root that it is about; empty for all of the project."""

    def to_json(self, **facts: object) -> bytes:
        """The question with what else git must know."""
        limits = {
            "file": MOST_FILE_BYTES,
            "bytes": MOST_DELIVERED_BYTES,
            "changes": MOST_CHANGES,
            "patch": MOST_PATCH_BYTES,
            "shown": MOST_SHOWN_FILE_BYTES,
        }
        asked = {"want": self.want, "paths": self.paths, "commit": self.commit, "limits": limits}
        return json.dumps(asked | facts).encode()


@dataclass(frozen=True, slots=True)
class WorkChange:
    """A file of the working tree that differs from the last commit."""

    path: str
    kind: WorkKind


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that differs too but cannot be committed from here."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A tree and the objects on both sides of what it changes, each under the name its bytes give it."""

    tree: str
    objects: Objects = field(repr=False)
    """What the tree has and the last commit has not in its place."""
    known: Objects = field(repr=False)
    """What the last commit has there, and the commit itself: read, never written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What git said."""

    changes: tuple[WorkChange, ...]
    skipped: tuple[Skipped, ...] = ()
    patch: str = ""
    delivery: Delivery | None = None


def read_answer(data: bytes, form: Format) -> Answer:
    """The answer in these bytes. `Unsound` for what no answer of ours looks like, `UserError` for git's own words."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        header: object = json.loads(data[_LENGTH.size : _LENGTH.size + length])
    except (struct.error, ValueError, RecursionError) as error:
        raise Unsound("the answer cannot be read") from error
    if not isinstance(header, dict):
        raise Unsound("the answer cannot be read")
    said = cast("dict[str, Any]", header)
    if "failed" in said:
        raise _failure(said)
    changes = tuple(WorkChange(_text(path), _kind(kind)) for path, kind in _pairs(said.get("changes")))
    skipped = tuple(Skipped(_text(path), _text(why)[:200]) for path, why in _pairs(said.get("skipped")))
    body = memoryview(data)[_LENGTH.size + length :]
    delivery = _delivery(said, body, form) if "tree" in said else None
    return Answer(changes=changes, skipped=skipped, patch=_text(said.get("patch", "")), delivery=delivery)


def _failure(said: dict[str, Any]) -> UserError | Unavailable:
    message = f"Git could not do it: {_text(said['failed'])[:1_000]}"
    if said.get("again") is True:
        return Unavailable(message, hint="Try again.")
    return UserError(message, hint=_text(said.get("hint", ""))[:500])


def _delivery(said: dict[str, Any], body: memoryview, form: Format) -> Delivery:
    tree = said["tree"]
    if not isinstance(tree, str) or not form.is_name(tree):
        raise Unsound("the answer names no tree")
    objects, body = _objects(said.get("objects"), body, form)
    known, body = _objects(said.get("known"), body, form)
    if body:
        raise Unsound("more data than announced")
    return Delivery(tree=tree, objects=objects, known=known)


def _objects(raw: object, body: memoryview, form: Format) -> tuple[Objects, memoryview]:
    """The objects a list announces, and the bytes after them."""
    listed = cast("list[object]", raw) if isinstance(raw, list) else []
    if len(listed) > MOST_OBJECTS:
        raise Unsound("more objects than one commit may have")
    objects: dict[str, tuple[ObjectKind, bytes]] = {}
    for line in listed:
        match line:
            case [str(kind), int(size)] if 0 <= size <= len(body) and not isinstance(size, bool):
                data, body = bytes(body[:size]), body[size:]
                # Whatever name it came under, it gets the one that is its own.
                objects[form.name_of(as_kind(kind), data)] = (as_kind(kind), data)
            case _:
                raise Unsound("an object is not as long as announced")
    return objects, body


def _pairs(value: object) -> list[tuple[object, object]]:
    if not isinstance(value, list) or len(cast("list[object]", value)) > MOST_CHANGES:
        raise Unsound("the answer lists no changes, or too many")
    pairs: list[tuple[object, object]] = []
    for line in cast("list[object]", value):
        match line:
            case [first, second]:
                pairs.append((first, second))
            case _:
                raise Unsound("the answer lists something else than changes")
    return pairs


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Unsound("the answer has no text where one belongs")
    return value


def _kind(value: object) -> WorkKind:
    kind = next((known for known in get_args(WorkKind) if known == value), None)
    if kind is None:
        raise Unsound("the answer names no kind of change")
    return kind
