"""How much may be used: of what, by whom, in which time."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

Measure = Literal["money", "tokens", "wall-seconds", "kernel-seconds", "rows", "steps"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

Per = Literal["run", "person", "team"]
PARTIES: tuple[Per, ...] = get_args(Per)

Window = Literal["ever", "day"]
WINDOWS: tuple[Window, ...] = get_args(Window)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most so much of one thing, for each run, person or team, in all or in a day (UTC)."""

    measure: Measure
    per: Per
    at_most: Decimal
    window: Window = "ever"
    currency: str = ""
    """Only for money."""
    where: str = ""
    """The file and line that set it."""

    def describe(self) -> str:
        """The limit in words."""
        unit = self.currency if self.measure == "money" else self.measure
        return f"{self.at_most:f} {unit} per {self.per}{' and day' if self.window == 'day' else ''}"
