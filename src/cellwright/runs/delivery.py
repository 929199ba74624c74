"""What a run hands over in the end, whatever came of it. Plain values: a workflow's result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from cellwright.runs.plan import TaskStatus

Status = Literal["done", "partial", "refused", "stopped", "failed"]
"""done: proven. partial: a notebook is there, and what is wrong with it is said. refused: policy or the person said no.
stopped: by a person. failed: there is nothing to hand over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredTask:
    """A task and what came of it."""

    id: str
    title: str
    status: TaskStatus
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredCheck:
    """A check and whether it held."""

    name: str
    says: str
    has_passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a run hands over."""

    status: Status
    goal: str
    title: str = ""
    answer: str = ""
    """First of all: what the person wanted to know."""
    summary: str = ""
    why: str = ""
    """What ended it, unless it is done."""
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    tasks: tuple[DeliveredTask, ...] = ()
    checks: tuple[DeliveredCheck, ...] = ()
    problems: tuple[str, ...] = ()
    """What the check found and nobody mended."""
    notebook: str = ""
    report: str = ""
    """The HTML report's path."""
    proof: str = ""
    """The signed proof's path; empty: not proven."""
    microdollars: int = 0
    tokens: int = 0
    seconds: float = 0.0
    is_price_known: bool = True


_DELIVERY: Final = TypeAdapter(Delivery)


def delivery_json(delivery: Delivery) -> Any:
    """As a workflow's result."""
    return _DELIVERY.dump_python(delivery, mode="json")


def parse_delivery(value: Any) -> Delivery:
    """The delivery of such a result."""
    return _DELIVERY.validate_python(value)
