"""Words that stand where a value is missing. Some always do, some only among values of another kind."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from cellwright_guest.profiling.numbers import as_mask
from cellwright_guest.profiling.typed import Mask, compute

ALWAYS: Final = frozenset({
    "", "n/a", "n.a.", "#n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "null", "<na>", "<null>",
    "nan", "-", "--", "---", "–", "—", "?", "??", "???", "(blank)", "k.a.", "k. a.", "keine angabe", "n/d",
    "s/d", "\\n",
})  # fmt: skip
"""Nobody means anything else by them."""
AMONG_OTHERS: Final = ALWAYS | frozenset({
    "na", "none", "nil", "nat", "unknown", "unbekannt", "inconnu", "desconocido", "missing", "not available",
    "not known", "not applicable", "tbd", "tba", "undefined", ".", "..", "...", "*", "**", "x", "empty", "leer",
    "ohne", "pending",
})  # fmt: skip
"""Among numbers or dates these are no values either."""


def stand_for_nothing(trimmed: Any, words: frozenset[str]) -> Mask:
    """Which of the texts (trimmed, a pyarrow array) are null words."""
    return as_mask(compute.is_in(compute.utf8_lower(trimmed), value_set=pa.array(sorted(words), trimmed.type)))
