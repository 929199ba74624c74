"""A text that comes in pieces is masked as safely as one that comes whole."""

from __future__ import annotations

import base64
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cellwright.policy import Masker, MaskingStream, Secret, SecretFinding
from cellwright.policy.masking.stream import LONGEST_FINDING, LONGEST_WAIT
from tests.policy.strategies import PROPERTY
from tests.policy.test_masking import AROUND, LETTERS, SPELLINGS, TYPEABLE, is_findable, masker, shared

KEY = "tr0ub4dor&3-Horse/Battery+Staple"
CUTS = st.lists(st.integers(0, 400), max_size=30)


def streamed(one: Masker, text: str, cuts: list[int]) -> str:
    stream = MaskingStream(one)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    return "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])


@PROPERTY
@given(secret=TYPEABLE, before=AROUND, behind=AROUND, spelling=st.sampled_from(sorted(SPELLINGS)), cuts=CUTS)
def test_pieces_are_masked_like_the_whole(
    secret: str, before: str, behind: str, spelling: str, cuts: list[int]
) -> None:
    assume(is_findable(secret, spelling))
    one, spelt = masker(secret), SPELLINGS[spelling](secret)
    text = f"{before} {spelt} {behind}"
    output = streamed(one, text, cuts)
    assert shared(spelt, output) == []
    assert shared(secret, output) == []
    assert output == one.mask(text).text


@PROPERTY
@given(secret=TYPEABLE, before=AROUND, behind=AROUND)
def test_one_character_at_a_time_never_shows_eight_of_a_secret(secret: str, before: str, behind: str) -> None:
    text, stream = f"{before}{secret}{behind}", MaskingStream(masker(secret))
    sent = ""
    for character in text:
        sent += stream.feed(character)
        assert shared(secret, sent) == []
    assert shared(secret, sent + stream.finish()) == []


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_character_at_a_time_gives_what_the_whole_gives(spelling: str) -> None:
    text = f"some words before {SPELLINGS[spelling](KEY)} and some more behind it"
    assert streamed(masker(KEY), text, list(range(len(text)))) == masker(KEY).mask(text).text


@PROPERTY
@given(text=st.text("abcdefg hij\n", max_size=300), cuts=CUTS)
def test_text_without_a_secret_goes_through_unchanged(text: str, cuts: list[int]) -> None:
    assert streamed(masker("0123456789"), text, cuts) == text


@PROPERTY
@given(secret=LETTERS, repeats=st.integers(1, 20), cuts=CUTS)
def test_a_secret_printed_again_and_again_never_shows(secret: str, repeats: int, cuts: list[int]) -> None:
    assume(not shared(secret, "[masked S0]", 4))
    assert shared(secret, streamed(masker(secret), secret * repeats, cuts)) == []


def test_what_is_decided_goes_out_at_once() -> None:
    stream = MaskingStream(masker(KEY))
    sent = stream.feed("A sentence of some length that holds no secret, then more ")
    assert sent.startswith("A sentence of some length that holds ")
    assert MaskingStream(Masker.of([], salt=b"a salt for tests")).feed("all of this ") == "all of this "


def test_findings_are_told_by_their_place_in_the_whole_text() -> None:
    stream = MaskingStream(masker(KEY))
    text = f"{'word ' * 60}{KEY} and on"
    output = "".join([*(stream.feed(character) for character in text), stream.finish()])
    assert output == text.replace(KEY, "[masked S0]")
    assert stream.found == (SecretFinding(name="S0", is_known=True, start=300, end=300 + len(KEY)),)


def test_a_value_is_recognised_by_a_name_that_has_gone_out_already() -> None:
    stream = MaskingStream(masker(KEY))
    pieces = ["the line says password ", "= ", "'hunter2", "hunter3' ", "and ends here, after a few more words"]
    output = "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])
    assert output == "the line says password = '[masked assignment]' and ends here, after a few more words"


def test_a_private_key_longer_than_anything_held_back_is_dropped_to_its_end() -> None:
    body = base64.b64encode(bytes(range(256)) * 400).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    key = f"-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----"
    assert len(key) > 2 * LONGEST_FINDING
    stream = MaskingStream(Masker.of([], salt=b"a salt for tests"))
    text = f"before\n{key}\nbehind\n"
    output = "".join(stream.feed(text[at : at + 1000]) for at in range(0, len(text), 1000)) + stream.finish()
    assert output == "before\n[masked private-key]\nbehind\n"
    assert [finding.name for finding in stream.found] == ["private-key"]


def test_a_private_key_is_recognised_although_its_first_words_went_out() -> None:
    stream = MaskingStream(Masker.of([], salt=b"a salt for tests"))
    pieces = ["-----BEGIN ", "RSA ", "PRIVATE KEY-----\n", "MIIEow\n", "-----END RSA PRIVATE KEY-----\n", "on"]
    output = "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])
    assert "MIIEow" not in output
    assert output.endswith("[masked private-key]\non")


def test_blanks_without_end_are_not_held_back_without_end() -> None:
    stream = MaskingStream(masker(KEY))
    sent = sum(len(stream.feed("-" * 1000)) for _ in range(20))
    assert sent >= 20_000 - 2 * LONGEST_WAIT


def test_one_endless_word_goes_through_unchanged() -> None:
    stream = MaskingStream(Masker.of([Secret(name="K", value="0123456789")], salt=b"a salt for tests"))
    text = "abcdefgh" * 3000
    assert "".join([*(stream.feed(text[at : at + 7]) for at in range(0, len(text), 7)), stream.finish()]) == text


def test_an_empty_stream_is_empty() -> None:
    stream = MaskingStream(masker(KEY))
    assert stream.feed("") + stream.finish() == ""
