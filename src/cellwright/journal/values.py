"""What is kept of a step: its value as JSON, or its error as type, message, hint and traceback. Nothing is pickled.

A value is JSON, or something whose type says how to make it JSON and back; texts are masked. Errors of our own tree
come back as what they were, anything else as `StepFailed`, which is raised the first time too, so that a workflow
meets the same error live and on replay.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter

from cellwright.errors import CellwrightError, Defect
from cellwright.remedies import Hint, parse_remedy, remedy_json

T = TypeVar("T")
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def dump(value: object) -> str:
    """The value as JSON. Raises `Defect` for what JSON does not have."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Defect(
            f"A {type(value).__name__} cannot be kept as JSON: {error}.",
            hint="Give back plain JSON values, or say with `returns=` of which type the result is.",
        ) from error


def load(text: str) -> Any:
    """The value of its JSON."""
    return json.loads(text)


def to_json(value: object, kind: type[Any] | None) -> Json:
    """A value of this type as plain JSON values."""
    return load(dump(value)) if kind is None else adapter(kind).dump_python(value, mode="json")


def from_json(value: Json, kind: type[T] | None) -> T | Any:
    """The value of this type that plain JSON values stand for."""
    return value if kind is None else adapter(kind).validate_python(value)


@lru_cache(maxsize=512)
def adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """How values of this type become JSON and back."""
    return TypeAdapter(kind)


Mask = Callable[[str], str]
"""Takes secrets out of a text. A text that was masked stays as it is."""


def masked_json(value: Json, mask: Mask) -> Json:
    """The value with every text in it masked.

    Where a secret would still be seen by somebody who reads the value as a whole — spread over several texts, or known
    by the name it stands under — the whole value becomes one masked text.
    """
    parts = masked_parts(value, mask)
    text = dump(parts)
    whole = mask(text)
    return parts if whole == text else whole


def masked_parts(value: Json, mask: Mask) -> Json:
    """The value with every text in it masked, each by itself."""
    match value:
        case str():
            return mask(value)
        case Mapping():
            return {mask(name): masked_parts(part, mask) for name, part in value.items()}
        case Sequence():
            return [masked_parts(part, mask) for part in value]
        case _:
            return value


_TRACEBACK_CHARACTERS: Final = 8_000
_MESSAGE_CHARACTERS: Final = 4_000


class StepFailed(CellwrightError):
    """A step raised something that is not of our error tree."""

    def __init__(self, message: str, *, hint: Hint = "", error_type: str = "", traceback_text: str = "") -> None:
        super().__init__(message, hint=hint)
        self.error_type = error_type
        """The name of the original error's class."""
        self.traceback_text = traceback_text


def error_json(error: BaseException, mask: Mask | None = None) -> dict[str, Any]:
    """An error as plain JSON values, masked: what it says is for people, and nobody computes with it."""
    own = isinstance(error, CellwrightError)
    hidden = mask or str
    more: Json = _more(error) if own else {}
    return {
        "type": error.error_type if isinstance(error, StepFailed) else type(error).__name__,
        "lineage": [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, CellwrightError)],
        "message": hidden(_message(error)[:_MESSAGE_CHARACTERS]),
        "hint": hidden(error.hint) if own else "",
        "traceback": hidden(_traceback(error)[-_TRACEBACK_CHARACTERS:]),
        "more": more if mask is None else masked_json(more, mask),
        **({"remedy": remedy_json(error.remedy.changed(hidden))} if own and error.remedy else {}),
    }


def parse_error(envelope: dict[str, Any]) -> CellwrightError:
    """The error of what was kept: the nearest class of our tree that still exists, or `StepFailed`."""
    known = {kind.__name__: kind for kind in _tree(CellwrightError)}
    kind: type[CellwrightError] = next((known[name] for name in envelope["lineage"] if name in known), StepFailed)
    error = kind.__new__(kind, envelope["message"])
    # Not its __init__: subclasses may want more arguments than were kept.
    error.args = (envelope["message"],)
    error.message = envelope["message"]
    error.hint = envelope["hint"]
    # Not kept by the version before.
    error.remedy = parse_remedy(envelope.get("remedy"))
    if isinstance(envelope["more"], dict):
        vars(error).update(envelope["more"])
    if isinstance(error, StepFailed):
        error.error_type = envelope["type"]
        error.traceback_text = envelope["traceback"]
    return error


def settled(error: BaseException, mask: Mask | None = None) -> CellwrightError:
    """The error as a replay will raise it."""
    return parse_error(load(dump(error_json(error, mask))))


def headline(error: BaseException) -> str:
    """The error on one line, for an event."""
    kind = error.error_type if isinstance(error, StepFailed) else type(error).__name__
    return f"{kind}: {_message(error)}".splitlines()[0][:500]


def _message(error: BaseException) -> str:
    if isinstance(error, CellwrightError):
        return error.message
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a foreign error's __str__ may raise anything, and must not hide the error
        return f"<{type(error).__name__} without a readable message>"


def _traceback(error: BaseException) -> str:
    if isinstance(error, StepFailed) and error.traceback_text:
        return error.traceback_text
    return "".join(traceback.format_exception(error))


def _more(error: CellwrightError) -> dict[str, Json]:
    """What a subclass keeps besides message and hint, if JSON can hold it."""
    kept: dict[str, Json] = {}
    for name, value in vars(error).items():
        if name not in {"message", "hint", "remedy", "traceback_text", "error_type"} and _is_plain(value):
            kept[name] = value
    return kept


def _is_plain(value: object) -> bool:
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list():
            return all(map(_is_plain, value))
        case dict():
            return all(isinstance(name, str) and _is_plain(item) for name, item in value.items())
        case _:
            return False


def _tree(root: type[CellwrightError]) -> Iterator[type[CellwrightError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _tree(kind)
