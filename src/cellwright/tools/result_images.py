"""Pictures among results: found in what cells show, kept by name outside the journal's rows, and told in words."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    # Late: whoever only guards actions must not wait for kernels to load.
    from cellwright.kernel.observation import CellOutcome

MOST_BYTES: Final = 1 << 18
"""A larger one is not shown to a model."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PREFIX: Final = "data:image/png;base64,"
_MOST_SIDE: Final = 8_000
"""Providers refuse larger ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultImage:
    """A picture that came with a result."""

    name: str
    """Under which it is kept, in base64; empty: it was not."""
    width: int
    height: int

    @property
    def words(self) -> str:
        """How it is told where it is not shown."""
        return f"a picture, {self.width}×{self.height}"


def size_of(image: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG; None for anything else."""
    if not image.startswith(_PNG) or image[12:16] != b"IHDR" or len(image) < 24:
        return None
    width, height = struct.unpack(">II", image[16:24])
    return width, height


def is_showable(image: bytes) -> bool:
    """Whether a model may be shown it."""
    size = size_of(image)
    return size is not None and min(size) > 0 and max(size) <= _MOST_SIDE and len(image) <= MOST_BYTES


def image_of(outcome: CellOutcome) -> bytes | None:
    """What a cell shows as a picture: a figure among its variables, small already, else its output."""
    figures = [variable.picture for variable in outcome.variables if variable.picture]
    if figures:
        return figures[-1]
    return None if outcome.output is None else _in_output(outcome.output.mimetype, outcome.output.data)


def _in_output(mimetype: str, data: str) -> bytes | None:
    match mimetype:
        case "image/png":
            return _decoded(data)
        case "application/vnd.marimo+mimebundle":
            form = _forms(data).get("image/png")
            return _decoded(form) if isinstance(form, str) else None
        case _:
            return None


def _forms(data: str) -> dict[str, Any]:
    try:
        forms = json.loads(data) if len(data) <= 2 * MOST_BYTES else None
    except (ValueError, RecursionError):
        forms = None
    return forms if isinstance(forms, dict) else {}


def _decoded(url: str) -> bytes | None:
    """The bytes of a data URL; None where it is none, or too much."""
    if not url.startswith(_PREFIX) or len(url) > 2 * MOST_BYTES:
        return None
    try:
        return base64.b64decode(url.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
