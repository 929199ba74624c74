"""A text that grows is masked as it comes: no piece shows what the whole would hide, and it ends as the whole does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.policy.masking.masker import Masker, Secret
from cellwright.policy.masking.stream_mask import StreamMask

KNOWN = "tr0ub4dor&3-and-more"
PHRASE = "correct horse battery staple"
MASKER = Masker.of([Secret(name="PASSWORD", value=KNOWN), Secret(name="PHRASE", value=PHRASE)], salt=b"s" * 16)
KEY = f"sk-ant-{'a1B2c3D4' * 6}"
TOKEN = f"eyJ{'hbGciOi1' * 30}.eyJ{'zdWIiOi1' * 60}.{'c2lnbmF0' * 8}"
BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIEowIBAAKCAQEA' * 60}\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    "known": KNOWN,
    "with blanks": PHRASE,
    "by its look": KEY,
    "known only by its end": TOKEN,
    "in an address": "hunter2hunter2",
    "in an assignment": "Zx9-qq7-Lm2",
    "a block": "MIIEowIBAAKCAQEA",
}
TEXTS = {
    "known": f"the password is {KNOWN}, they say",
    "with blanks": f"the words are {PHRASE} and no others",
    "by its look": f"key={KEY}\nrest of it",
    "known only by its end": f"token {TOKEN} is over",
    "in an address": "postgresql://ana:hunter2hunter2@db.example/sales is where it lies",
    "in an assignment": 'password = "Zx9-qq7-Lm2"\nconnect(password)',
    "a block": f"here:\n{BLOCK}\nthat was it",
}


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_a_secret_in_pieces_of_any_size_is_never_shown(kind: str, size: int) -> None:
    text = ("Some words before it. " * 40) + TEXTS[kind] + (" And some after it." * 40)
    mask, secret = StreamMask(MASKER), SECRETS[kind]
    for end in range(size, len(text) + size, size):
        shown = mask.show(text[:end])
        assert not any(secret[at : at + 8] in shown for at in range(len(secret) - 7))
    assert mask.show(text, is_whole=True) == MASKER.mask(text).text


@given(
    st.lists(st.sampled_from([*TEXTS.values(), "plain words ", "x=1\n", "日本語、", "é 😀 ", " "]), max_size=8),
    st.data(),
)
def test_what_is_shown_grows_and_ends_as_the_whole_text_masked(parts: list[str], data: st.DataObject) -> None:
    text, mask, before = "".join(parts), StreamMask(MASKER), ""
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    for cut in cuts:
        shown = mask.show(text[:cut])
        assert shown.startswith(before)
        before = shown
    assert mask.show(text, is_whole=True) == MASKER.mask(text).text


def test_all_but_the_last_words_is_shown_at_once() -> None:
    text = "The revenue fell in the third quarter because two customers left, and one of them was large."
    shown = StreamMask(MASKER).show(text)
    assert text.startswith(shown)
    assert len(text) - len(shown) <= 40


def test_a_script_without_blanks_is_shown_as_it_comes() -> None:
    text = "売上は第三四半期に減少しました。" * 10
    assert len(StreamMask(MASKER).show(text)) >= len(text) - 40


def test_a_text_that_became_another_is_masked_anew() -> None:
    mask = StreamMask(MASKER)
    mask.show("one two three four five six seven eight nine ten")
    assert mask.show("another", is_whole=True) == "another"
