"""Known secrets are found whole and in part, in every spelling, and ordinary text is left alone."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cellwright.errors import Defect
from cellwright.policy.masking.known_secrets import SecretFinding
from cellwright.policy.masking.masker import Masked, Masker, Secret
from tests.policy.strategies import PROPERTY

SALT = b"a salt for tests"
KEY = "tr0ub4dor&3-Horse/Battery+Staple"

Spelling = Callable[[str], str]

SPELLINGS: dict[str, Spelling] = {
    "as it is": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "reversed": lambda secret: secret[::-1],
    "hex": lambda secret: _bytes(secret).hex(),
    "upper hex": lambda secret: _bytes(secret).hex().upper(),
    "spaced hex": lambda secret: _bytes(secret).hex(" "),
    "hex literals": lambda secret: ", ".join(hex(byte) for byte in _bytes(secret)),
    "list of bytes": lambda secret: str(list(_bytes(secret))),
    "url": lambda secret: urllib.parse.quote(secret, safe=""),
    "url form": urllib.parse.quote_plus,
    "url, every byte": lambda secret: "".join(f"%{byte:02x}" for byte in _bytes(secret)),
    "url twice": lambda secret: urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe=""),
    "json": json.dumps,
    "json twice": lambda secret: json.dumps(json.dumps(secret)),
    "unicode escapes": lambda secret: "".join(f"\\u{ord(one):04x}" for one in secret if ord(one) < 0x10000),
    "long unicode escapes": lambda secret: "".join(f"\\U{ord(one):08X}" for one in secret),
    "braced unicode escapes": lambda secret: "".join(f"\\u{{{ord(one):x}}}" for one in secret),
    "byte escapes": lambda secret: "".join(f"\\x{byte:02x}" for byte in _bytes(secret)),
    "repr": repr,
    "html": html.escape,
    "html numbers": lambda secret: "".join(f"&#{ord(one)};" for one in secret),
    "html hex numbers": lambda secret: "".join(f"&#x{ord(one):X};" for one in secret),
    "one per line": "\n".join,
    "spaced": " ".join,
    "zero-width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "no-break spaces": "\u00a0".join,
}


SPREAD = {"one per line", "spaced", "zero-width", "soft hyphens", "no-break spaces"}
"""Spellings that can be undone only where eight characters are left without blanks."""


def is_findable(secret: str, spelling: str) -> bool:
    return spelling not in SPREAD or len("".join(secret.split())) >= 8


def _bytes(secret: str) -> bytes:
    return secret.encode("utf-8", "surrogatepass")


def masker(*values: str) -> Masker:
    return Masker.of([Secret(name=f"S{place}", value=value) for place, value in enumerate(values)], salt=SALT)


def shared(needle: str, text: str, length: int = 8) -> list[str]:
    """Every piece of `needle` of this length that stands in `text`."""
    return [needle[at : at + length] for at in range(len(needle) - length + 1) if needle[at : at + length] in text]


def secrets_of(alphabet: str, least: int = 8) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=40).filter(lambda value: value == value.strip())


TYPEABLE = secrets_of(string.ascii_letters + string.digits + string.punctuation + " ")
LETTERS = secrets_of(string.ascii_letters + string.digits)
ANY_SECRET = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=8, max_size=30).filter(
    lambda value: value == value.strip()
)
AROUND = st.text(st.characters(codec="utf-8"), max_size=30)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_found_in_every_spelling(spelling: str) -> None:
    spelt = SPELLINGS[spelling](KEY)
    masked = masker(KEY).mask(f"before <{spelt}> behind")
    assert shared(spelt, masked.text) == []
    assert masked.text.startswith("before <") and masked.text.endswith("> behind")
    assert [finding.name for finding in masked.found] == ["S0"]


@PROPERTY
@given(secret=TYPEABLE, before=AROUND, behind=AROUND, spelling=st.sampled_from(sorted(SPELLINGS)))
def test_no_eight_characters_of_a_secret_remain_in_any_spelling(
    secret: str, before: str, behind: str, spelling: str
) -> None:
    assume(is_findable(secret, spelling))
    spelt = SPELLINGS[spelling](secret)
    masked = masker(secret).mask(f"{before} {spelt} {behind}")
    assert shared(spelt, masked.text) == []
    assert shared(secret, masked.text) == []
    assert masked.found


@pytest.mark.parametrize("text", ["000000 a", "000000+A", "000000%20A", "A 000000"])
def test_a_secret_whose_eighth_character_is_a_blank_is_found(text: str) -> None:
    assert masker("000000 A").mask(text).text == "[masked S0]"


@PROPERTY
@given(secret=ANY_SECRET, before=AROUND, behind=AROUND)
def test_a_secret_of_any_characters_is_found_as_it_is(secret: str, before: str, behind: str) -> None:
    text = masker(secret).mask(before + secret + behind).text
    assert shared(secret, text) == []


@PROPERTY
@given(
    secret=TYPEABLE,
    before=st.binary(max_size=7),
    behind=st.binary(max_size=7),
    is_url=st.booleans(),
    width=st.integers(4, 80),
)
def test_base64_is_found_at_every_offset_and_line_width(
    secret: str, before: bytes, behind: bytes, is_url: bool, width: int
) -> None:
    encode = base64.urlsafe_b64encode if is_url else base64.standard_b64encode
    encoded = encode(before + secret.encode() + behind).decode()
    lines = "\n".join(encoded[at : at + width] for at in range(0, len(encoded), width))
    alone = encode(bytes(len(before) % 3) + secret.encode()).decode()[4:].rstrip("=")
    # Characters that hold bits of what stands around the secret belong to nobody.
    inner = alone[:-1]
    for given_text in (encoded, lines):
        masked = masker(secret).mask(f"data: {given_text};")
        assert shared(inner, masked.text.replace("\n", "")) == []
        assert masked.found


@PROPERTY
@given(
    secret=LETTERS,
    gaps=st.lists(st.text(" \t\n\r-_.,:;|/+*'\"\u200b\u200d\u2060\ufeff\u00ad", max_size=4), min_size=40, max_size=40),
)
def test_separators_between_the_characters_do_not_hide_a_secret(secret: str, gaps: list[str]) -> None:
    spread = "".join(character + gap for character, gap in zip(secret, gaps, strict=False))
    masked = masker(secret).mask(f"<<{spread}>>")
    left = re.sub(r"[\W_]", "", masked.text.replace("[masked S0]", "ÿ"))
    assert shared(secret, left) == []
    assert masked.found


@PROPERTY
@given(secret=TYPEABLE, data=st.data())
def test_a_partial_print_of_eight_characters_is_found(secret: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(secret) - 8))
    part = secret[start : start + data.draw(st.integers(8, 12))]
    assert shared(secret, masker(secret).mask(f"({part})").text) == []


@PROPERTY
@given(secret=TYPEABLE, escaped=st.lists(st.sampled_from(["", "%", "u", "x", "&"]), min_size=40, max_size=40))
def test_a_mixture_of_escapes_does_not_hide_a_secret(secret: str, escaped: list[str]) -> None:
    forms: dict[str, Spelling] = {
        "": lambda one: f"\\{one}" if one in "\\\"'" else f"%{ord(one):02x}" if one in "%&" else one,
        "%": lambda one: f"%{ord(one):02X}",
        "u": lambda one: f"\\u{ord(one):04x}",
        "x": lambda one: f"\\x{ord(one):02x}",
        "&": lambda one: f"&#{ord(one)};",
    }
    mixed = "".join(forms[how](one) for one, how in zip(secret, escaped, strict=False))
    masked = masker(secret).mask(f"<{mixed}>")
    assert masked.found
    assert shared(mixed, masked.text, 12) == []


@PROPERTY
@given(secret=secrets_of("0123456789"), text=st.text(string.ascii_letters + " \n.,", max_size=200))
def test_text_without_a_secret_comes_back_as_the_same_object(secret: str, text: str) -> None:
    assert masker(secret).mask(text).text is text


def test_seven_characters_are_no_print_and_stay() -> None:
    text = f"the first seven are {KEY[:7]} and the last {KEY[-7:]}"
    assert masker(KEY).mask(text) == Masked(text=text)


def test_what_is_found_is_told_by_name_and_place() -> None:
    text = f"é {KEY} é"
    assert masker(KEY).mask(text) == Masked(
        text="é [masked S0] é", found=(SecretFinding(name="S0", is_known=True, start=2, end=2 + len(KEY)),)
    )


def test_a_known_value_names_what_also_looks_like_a_key() -> None:
    key = "ghp_" + "aB3" * 12
    assert masker(key).mask(f"x {key} y").text == "x [masked S0] y"
    assert masker(key[6:]).mask(f"x {key} y").text == "x [masked S0] y"
    assert masker(key[:20]).mask(f"x {key} y").text == "x [masked S0] y"


@PROPERTY
@given(secret=TYPEABLE, before=AROUND, behind=AROUND)
def test_masking_twice_changes_nothing_more(secret: str, before: str, behind: str) -> None:
    assume(not shared(secret, "[masked S0]", 4))
    one = masker(secret)
    once = one.mask(f"{before} {secret} {behind} password='{secret}' postgres://me:{secret}@host").text
    assert one.mask(once).text == once


def test_values_too_short_to_tell_from_words_are_listed() -> None:
    short = Masker.of([Secret(name="PIN", value="1234567"), Secret(name="LONG", value=KEY)], salt=SALT)
    assert short.too_short == ("PIN",)
    assert short.mask("PIN 1234567").text == "PIN 1234567"


def test_a_name_that_tells_the_secret_is_not_used() -> None:
    telling = Masker.of([Secret(name=f"key {KEY[:9]}", value=KEY)], salt=SALT)
    assert telling.mask(f"x {KEY}").text == "x [masked secret]"


def test_few_characters_of_an_encoding_occur_by_chance_and_stay() -> None:
    # Six bytes as hex; together with eight characters of a plain secret they are found.
    assert masker("12345678ab").mask("at 313233343536 rows").found == ()
    assert masker("12345678ab", "33343536-zz").mask("at 313233343536 rows").text == "at [masked S1] rows"


def test_two_secrets_of_one_name_are_both_found() -> None:
    both = Masker.of([Secret(name="K", value="aaaabbbbcccc"), Secret(name="K", value="ddddeeeeffff")], salt=SALT)
    assert both.mask("aaaabbbbcccc ddddeeeeffff").text == "[masked K] [masked K 2]"


def test_neither_a_masker_nor_a_secret_shows_the_value() -> None:
    one = masker(KEY)
    shown = repr(one) + repr(Secret(name="x", value=KEY)) + repr(one.known.prints) + repr(one.known.table)
    assert shared(KEY, shown, 4) == []


def test_a_short_salt_is_our_mistake() -> None:
    with pytest.raises(Defect):
        Masker.of([], salt=b"short")


def test_lone_surrogates_and_bytes_that_are_no_text_do_no_harm() -> None:
    text = f"\ud800 %ff%fe\u200b \\ud83d\\u0041 \\Uffffffff \\ {KEY} &bogus; \\ud83d\\ude00"
    assert masker(KEY).mask(text).text == text.replace(KEY, "[masked S0]")


def test_a_character_outside_the_basic_plane_is_found_when_escaped() -> None:
    assert masker("pass😀word😀").mask(json.dumps("pass😀word😀")).text == '"[masked S0]"'


def ordinary() -> dict[str, str]:
    """What data scientists print all day, and that holds no secret."""
    draw = random.Random(7)
    words = ["the", "model", "learns", "a", "password", "policy", "from", "tokens", "and", "keys", "of", "users"]
    return {
        "numbers": "\n".join(",".join(f"{draw.random():.6f}" for _ in range(8)) for _ in range(4000)),
        "integers": " ".join(str(draw.randrange(10**9)) for _ in range(20000)),
        "git hashes": "\n".join(draw.randbytes(20).hex() for _ in range(4000)),
        "uuids": "\n".join("-".join(draw.randbytes(size).hex() for size in (4, 2, 2, 2, 6)) for _ in range(3000)),
        "an image": f"data:image/png;base64,{base64.b64encode(draw.randbytes(150_000)).decode()}",
        "prose": " ".join(draw.choice(words) for _ in range(20000)),
        "array": repr([[draw.randrange(256) for _ in range(30)] for _ in range(1000)]),
    }


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", ordinary())
def test_ordinary_text_is_left_alone_with_fifty_secrets_known(kind: str) -> None:
    draw = random.Random(3)
    letters = string.ascii_letters + string.digits
    many = masker(*("".join(draw.choice(letters) for _ in range(40)) for _ in range(50)))
    text = ordinary()[kind]
    assert many.mask(text).found == ()
