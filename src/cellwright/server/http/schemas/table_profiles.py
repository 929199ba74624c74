"""Shapes of `/connections/{name}/profile`."""

from __future__ import annotations

from cellwright.profiles.profile import Kind, Meaning, Severity
from cellwright.server.http.schemas.model import ResponseModel


class ProfiledValue(ResponseModel):
    """A value and how often it is there."""

    value: str
    count: int


class ProfiledColumn(ResponseModel):
    """One column as it was found."""

    name: str
    kind: Kind
    meaning: Meaning
    unit: str
    missing: int
    """Of the rows looked at."""
    distinct: int
    is_unique: bool
    values: str
    """What is in it, in a few words: a range, a span of time, the commonest values."""
    common: list[ProfiledValue]
    """The commonest, the first few."""
    histogram: list[int]
    """Counts in equal steps from `least` to `greatest`; empty: it holds no numbers or dates."""
    least: float | None
    greatest: float | None


class ProfileRemark(ResponseModel):
    """Something a careful person would want to know."""

    column: str
    """Empty: it concerns the whole table."""
    says: str
    severity: Severity


class TableProfileShape(ResponseModel):
    """What a table is."""

    connection: str
    table: str
    rows: int
    is_counted: bool
    """False: `rows` is what the server believes."""
    looked_at: int
    """Rows that the figures are about."""
    sampling: str
    """How those were chosen; empty: all of them."""
    facts: list[str]
    """What holds for the table as a whole, a sentence each."""
    columns: list[ProfiledColumn]
    remarks: list[ProfileRemark]
    """The gravest first."""
