"""What a kernel says of its variables so that two states can be compared: shape, columns, missing values, ranges.

Light on purpose: the host decodes it, so nothing but msgspec is imported. All of it was said by the notebook's own
process and may be a lie; lists end at `MOST_COLUMNS`, texts at `MOST_TEXT`.
"""

from __future__ import annotations

from typing import Final

import msgspec

MOST_VARIABLES: Final = 200
MOST_COLUMNS: Final = 100
"""Columns, or keys, that are told one by one."""
MOST_TEXT: Final = 200


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    pass


class ColumnFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table, all elements of an array or list, or one entry of a dict."""

    name: str = ""
    type: str = ""
    """`float64`, `str`, `list`."""
    nulls: int | None = None
    """Missing values, NaN too; None where nobody can say."""
    smallest: str = ""
    largest: str = ""
    """Both empty: the values have no order, or there are none."""
    text: str = ""
    """A single value, short."""
    digest: str = ""
    """Differs if the values that were read do; empty where none could be."""
    is_exact: bool = True
    """False: from a sample; `nulls` is then what the sample makes likely."""


class VariableFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One variable as it is now."""

    name: str
    kind: str
    """As in a preview: dataframe, series, array, list, dict, number, text, object …"""
    type: str
    """Qualified class name, `pandas.DataFrame`."""
    shape: list[int] | None = None
    """Rows and columns, sizes of an array, or how many items; None for a single value. -1: nobody counted yet."""
    columns: list[ColumnFacts] = []
    columns_left: int = 0
    """How many more there are."""
    values: ColumnFacts | None = None
    """All elements together, of what has no columns."""
    text: str = ""
    """A single value, or an object in a few words."""
    problem: str = ""
    """Why there is no more to say."""


class AskFacts(_Message, frozen=True, kw_only=True):
    """Host → guest: facts of the named variables; a name without a value is left out of the answer."""

    request: int
    names: list[str]


class FactsTold(_Message, frozen=True, kw_only=True):
    """Guest → host: the answer to `AskFacts`."""

    request: int
    facts: list[VariableFacts] = []
