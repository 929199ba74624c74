"""Secrets in streams: in whichever form they come back, and wherever the stream is cut, stars stand there."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.data.exchanges.masked_stream import MaskedStream

SECRET = 'sk-Canary/8812+"x&y<z%41\\end'
FORMS = {
    "plain": SECRET,
    "other case": SECRET.swapcase(),
    "percent": quote(SECRET, safe=""),
    "percent, small": quote(SECRET, safe="").lower(),
    "every byte percent": "".join(f"%{byte:02X}" for byte in SECRET.encode()),
    "percent twice": quote(quote(SECRET, safe=""), safe=""),
    "form": quote_plus(SECRET),
    "json": json.dumps(SECRET)[1:-1],
    "json in json": json.dumps(json.dumps(SECRET))[3:-3],
    "json with slashes": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "json, every byte": "".join(f"\\u{byte:04x}" for byte in SECRET.encode()),
    "html": html.escape(SECRET),
    "html, numbers": "".join(f"&#{byte};" for byte in SECRET.encode()),
    "html, hexadecimal": "".join(f"&#x{byte:x};" for byte in SECRET.encode()),
    "python": "".join(f"\\x{byte:02x}" for byte in SECRET.encode()),
    "hexadecimal": SECRET.encode().hex(),
    "base64": base64.b64encode(SECRET.encode()).decode().rstrip("="),
    "broken lines": SECRET[:9] + "\r\n" + SECRET[9:],
}
"""The last character of base64 may hold bits of what follows; it tells two bits at most."""


def masked(data: bytes, cuts: list[int], secrets: tuple[str, ...] = (SECRET,)) -> bytes:
    stream, parts, before = MaskedStream(secrets), list[bytes](), 0
    for cut in [*sorted(cuts), len(data)]:
        parts.append(stream.feed(data[before:cut]))
        before = cut
    return b"".join([*parts, stream.finish()])


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_masked_in_every_form_wherever_it_is_cut(form: str) -> None:
    told = FORMS[form].encode()
    data = b'{"before": "100 %", "headers": "Bearer ' + told + b' ", "after": 1}'
    at = data.index(told)
    for cuts in [[], list(range(len(data))), *([cut] for cut in range(at, at + len(told) + 1))]:
        found = masked(data, cuts)
        assert len(found) == len(data)
        assert found[:at] == data[:at]
        hidden = found[at : at + len(told) - (form == "base64")]
        assert hidden == b"*" * len(hidden), (form, cuts)
        assert found[at + len(told) + 1 :] == data[at + len(told) + 1 :]


@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
def test_a_secret_inside_of_base64_is_masked_at_every_alignment(before: int, encode: object) -> None:
    assert callable(encode)
    secret = "token-?>?~~-8812-canary-with-some-length-that-takes-more-than-one-line-of-base64-0123456789"
    data = encode(b"x" * before + f'{secret}", "more": 1'.encode())
    found = masked(data, list(range(0, len(data), 7)), (secret,))
    assert len(found) == len(data)
    kept = bytes(now for now, was in zip(found, data, strict=True) if was not in b"\r\n")
    shown = base64.b64decode(kept.translate(bytes.maketrans(b"-_*", b"+/A")))
    assert b"canary" not in shown
    assert b"0123" not in shown
    assert b'"more": 1' in shown


@given(st.binary(max_size=300), st.lists(st.integers(min_value=0, max_value=300), max_size=6))
def test_what_has_no_secret_in_it_passes_as_it_is(data: bytes, cuts: list[int]) -> None:
    assert masked(data, [min(cut, len(data)) for cut in cuts]) == data


@given(
    st.binary(max_size=60),
    st.sampled_from(sorted(FORMS)),
    st.binary(max_size=60),
    st.lists(st.integers(min_value=0, max_value=400), max_size=8),
)
def test_no_stream_shows_a_secret_that_was_in_it(before: bytes, form: str, after: bytes, cuts: list[int]) -> None:
    told = FORMS[form].encode()
    data = before + b" " + told + b" " + after
    found = masked(data, [min(cut, len(data)) for cut in cuts])
    assert len(found) == len(data)
    assert told not in found


def test_two_secrets_that_overlap_are_both_gone() -> None:
    found = masked(b"x ada:hunter2-hunter2 x", [4, 9, 15], ("ada:hunter2-hunter2", "hunter2-hunter2"))
    assert found == b"x " + b"*" * 19 + b" x"


def test_a_short_secret_is_not_looked_for() -> None:
    assert masked(b"1234 and 1234", [], ("1234",)) == b"1234 and 1234"


def test_a_beginning_that_comes_to_nothing_is_told_at_the_end() -> None:
    assert masked(b"sk-Canary/88", [3]) == b"sk-Canary/88"
