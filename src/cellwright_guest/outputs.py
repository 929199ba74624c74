"""What a cell shows: bounded text for a model, and the rich form for a person when it is not too large."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from typing import Any, Final

import msgspec

from cellwright_guest import faults, report_wire
from cellwright_guest.html_text import readable
from cellwright_guest.previews import figures, identity, within
from cellwright_guest.previews.plain import ELLIPSIS, bounded, brief, exact, room_of
from cellwright_guest.previews.preview import classify, plain_or_type, plain_preview

_OUTPUT_TIMEOUT_SECONDS: Final = 1.0
_MIMETYPE_BYTES: Final = 120
_PARSED_JSON: Final = 4_000_000
_IMAGE_BYTES: Final = 96
_BY_VALUE: Final = frozenset({"dataframe", "series", "array", "figure", "ui", "model", "dict", "list", "tuple", "set"})
_BUNDLE_ORDER: Final = ("text/markdown", "image/", "application/vnd.vega", "text/plain", "text/html", "application/")
_BUNDLE_KEY: Final = re.compile(r'"([a-z]+/[\w.+-]{1,60})"\s*:\s*"')
_SVG_SIZE: Final = re.compile(r"\b(width|height)\s*=\s*[\"']([\d.]{1,10})")


def bound_output(
    mimetype: str, data: object, value: object, *, text_tokens: int, rich_bytes: int
) -> report_wire.Output:
    """From what marimo's formatter made of `value`. Never raises; both forms are within their bounds."""
    room = room_of(text_tokens)
    mimetype = bounded(exact(mimetype), _MIMETYPE_BYTES)
    rich, is_dropped = _rich(data, rich_bytes)
    text, is_cut = "", False
    plain = plain_preview("", value, room) if value is not None else None
    if plain is not None and mimetype in {"text/html", "application/json"}:
        text = plain.text
    else:
        text, is_cut = within(
            _OUTPUT_TIMEOUT_SECONDS, lambda: _text(mimetype, data, value, room), lambda error: (f"[{mimetype}]", True)
        )
    shown = bounded(text, room)
    return report_wire.Output(
        mimetype=mimetype,
        text=shown,
        data=rich,
        cut=is_dropped or is_cut or (shown.endswith(ELLIPSIS) and not text.endswith(ELLIPSIS)),
    )


def _rich(data: Any, rich_bytes: int) -> tuple[str, bool]:
    """(the frontend's form, whether it had to be left out)."""
    kind = type(data)
    if str in identity.ancestry(kind):
        return _fitting(exact(data), rich_bytes)
    if data is None:
        return "", False
    if kind is bytes and len(data) * 4 > rich_bytes * 3:
        return "", True
    encoded = within(_OUTPUT_TIMEOUT_SECONDS, lambda: msgspec.json.encode(data), lambda error: b"")
    return ("", True) if not encoded or len(encoded) > rich_bytes else (encoded.decode("utf-8", "replace"), False)


def _fitting(data: str, rich_bytes: int) -> tuple[str, bool]:
    if len(data) > rich_bytes:
        return "", True
    if data.isascii():
        return data, False
    encoded = data.encode("utf-8", "replace")
    return ("", True) if len(encoded) > rich_bytes else (encoded.decode("utf-8"), False)


def _text(mimetype: str, data: Any, value: object, room: int) -> tuple[str, bool]:
    if mimetype == "application/vnd.marimo+error":
        errors: list[Any] = list(data)[:5] if type(data) in {list, tuple} else []
        return "\n".join(faults.structural([error]).message for error in errors) or "[error]", False
    found = _by_value(value, room)
    if found is not None:
        return found, False
    content = exact(data) if str in identity.ancestry(type(data)) else ""
    if mimetype == "text/markdown" and type(source := identity.instance_attributes(value).get("_markdown_text")) is str:
        return source, False
    if mimetype in {"text/html", "text/markdown", "application/vnd.marimo+traceback"}:
        return readable(content, room)
    if mimetype.startswith("text/"):
        return content[: room + 1], False
    if mimetype.startswith("image/"):
        size = _svg_size(content[:2_000]) if "svg" in mimetype else png_size(_octets(content))
        return f"[{mimetype} {size[0]}×{size[1]}]" if size else f"[{mimetype}]", False
    if mimetype == "application/vnd.marimo+mimebundle":
        return _bundle(mimetype, content, room)
    held = _parsed(content)
    if mimetype.startswith("application/vnd.vega"):
        return (figures.vega(held, room) if type(held) is dict else f"[{mimetype}]"), False
    if mimetype == "application/json":
        return (brief(held, room, plain_or_type) if held is not None else content[: room + 1]), False
    return f"[{mimetype}, {len(content):,} characters]" if content else f"[{mimetype}]", False


def _by_value(value: object, room: int) -> str | None:
    """The preview, for values whose preview says more than their markup."""
    if value is None:
        return None
    kind = type(value)
    packages = identity.packages_of(kind)
    if "marimo" in packages and not identity.is_kind(kind, "marimo._plugins.ui._core.ui_element", "UIElement"):
        return None
    found, text = classify(value, kind, room)
    return text if found in _BY_VALUE else None


def _bundle(mimetype: str, content: str, room: int) -> tuple[str, bool]:
    """One value in several forms: the one that says most in words."""
    forms = _parsed(content)
    if type(forms) is not dict:
        found = _BUNDLE_KEY.search(content[:2_000])
        return f"[{found[1] if found else mimetype}]", True
    for wanted in _BUNDLE_ORDER:
        for form, data in forms.items():
            if form.startswith(wanted) and form != mimetype and type(data) is str:
                return _text(form, data, None, room)
            if form.startswith(wanted) and "vega" in form and type(data) is dict:
                return figures.vega(data, room), False
    return f"[{', '.join(str(form)[:60] for form in list(forms)[:6])}]", False


def _parsed(content: str) -> Any:
    if len(content) > _PARSED_JSON:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


# ── pictures ──


def _octets(content: str) -> bytes:
    """The first bytes of a data URL."""
    head, comma, body = content[: _IMAGE_BYTES * 2].partition(",")
    if not comma or not head.startswith("data:"):
        return b""
    kept = body[: _IMAGE_BYTES // 3 * 4]
    try:
        return base64.b64decode(kept[: len(kept) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def png_size(data: bytes) -> tuple[int, int] | None:
    """Width and height from the header of a PNG, which is what libraries draw."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return struct.unpack(">II", data[16:24])
    return None


def _svg_size(content: str) -> tuple[str, str] | None:
    found = dict(_SVG_SIZE.findall(content))
    return (found["width"], found["height"]) if len(found) == 2 else None
