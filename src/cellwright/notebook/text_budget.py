"""How many tokens a text may cost a model, estimated from above without a tokenizer."""

from __future__ import annotations

from typing import Final

_UNITS_PER_TOKEN: Final = 6
_UNITS_PER_ASCII: Final = 2
_UNITS_PER_OTHER_BYTE: Final = 4


def estimate_tokens(text: str) -> int:
    """A conservative count: three ASCII characters to a token, and two tokens to three bytes of anything else.

    Code and English run at three and a half to four characters a token on today's tokenizers, CJK at one to two
    tokens a character (here two), so real counts are lower. Never less for a longer text, and the estimate of a
    whole is never more than the sum of its parts.
    """
    return -(-units(text) // _UNITS_PER_TOKEN)


def units(text: str) -> int:
    """The estimate in sixths of a token, in which lengths simply add up."""
    if text.isascii():
        return len(text) * _UNITS_PER_ASCII
    ascii_count = sum(character < "\x80" for character in text)
    other_bytes = len(text.encode("utf-8", errors="surrogatepass")) - ascii_count
    return ascii_count * _UNITS_PER_ASCII + other_bytes * _UNITS_PER_OTHER_BYTE


def clip(text: str, tokens: int) -> str:
    """The text, or its beginning with a note of what was cut; always within `tokens`."""
    if estimate_tokens(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(_cut(text, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    cut = _cut(text, low)
    return cut if estimate_tokens(cut) <= tokens else ""


def _cut(text: str, length: int) -> str:
    return f"{text[:length]}… ({len(text) - length} more characters)"
