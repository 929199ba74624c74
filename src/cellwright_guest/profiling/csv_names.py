"""Names of columns, as pandas would give them."""

from __future__ import annotations

from collections.abc import Sequence

from cellwright_guest.profiling.csv_cells import is_rule
from cellwright_guest.profiling.sources import short_name


def pandas_names(header: Sequence[str]) -> list[str]:
    """What `pandas.read_csv` makes of a header line: `a.1` of a second `a`, `Unnamed: 3` of nothing."""
    unnamed = [position for position, name in enumerate(header) if name == ""]
    names = [name if name != "" else f"Unnamed: {position}" for position, name in enumerate(header)]
    present = set(names)
    counts: dict[str, int] = {}
    named = [position for position, name in enumerate(header) if name != ""]
    for position in [*named, *unnamed]:
        name = original = names[position]
        count = counts.get(name, 0)
        while count > 0:
            counts[original] = count + 1
            name = f"{original}.{count}"
            count = count + 1 if name in present else counts.get(name, 0)
        names[position] = name
        present.add(name)
        counts[name] = count + 1
    return names


def joined_names(headers: Sequence[Sequence[str]], width: int) -> list[str]:
    """One name a column of several header lines; a group's name counts for the columns to its right too."""
    told = [list(header) for header in headers if not is_rule(header)]
    rows = [[*header[:width], *[""] * (width - len(header))] for header in told]
    for row in rows[:-1]:
        for position in range(1, width):
            if not row[position].strip() and rows[-1][position].strip():
                row[position] = row[position - 1]
    joined = [" ".join(part for part in (row[position].strip() for row in rows) if part) for position in range(width)]
    return unique_names(joined)


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of bounded length, none empty, none twice."""
    return pandas_names([short_name(" ".join(name.split())) for name in names])


def numbered_names(width: int) -> list[str]:
    """Names for a table that has none."""
    return [f"column_{number}" for number in range(1, width + 1)]
