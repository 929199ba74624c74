"""The gateway as it is, with one difference: it dies where a test says."""

from __future__ import annotations

from cellwright.models.gateway.__main__ import main
from cellwright.models.gateway.lifetime import GatewayCrash, carry_on, crash_at


def start(arguments: list[str]) -> None:
    """`POINT`, or nothing to live."""
    main(crash_at(GatewayCrash(arguments[0])) if arguments else carry_on)
