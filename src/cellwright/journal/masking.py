"""Taking secrets out of what people will read: texts, and plain JSON values with texts inside.

What a secret is, policy knows; a journal is given a function. Results that code goes on with are never masked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cellwright.journal.values import Json, dump

Mask = Callable[[str], str]
"""Takes secrets out of a text. A text that was masked stays as it is."""


def masked_json(value: Json, mask: Mask) -> Json:
    """The value with every text in it masked.

    Where a secret would still be seen by somebody who reads the value as a whole — spread over several texts, or known
    by the name it stands under — the whole value becomes one masked text.
    """
    parts = _masked_parts(value, mask)
    text = dump(parts)
    whole = mask(text)
    return parts if whole == text else whole


def _masked_parts(value: Json, mask: Mask) -> Json:
    match value:
        case str():
            return mask(value)
        case Mapping():
            return {mask(name): _masked_parts(part, mask) for name, part in value.items()}
        case Sequence():
            return [_masked_parts(part, mask) for part in value]
        case _:
            return value
