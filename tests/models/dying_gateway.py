"""The gateway as it is, with one difference: it dies where a test says."""

from __future__ import annotations

import os
import signal

from cellwright.models.gateway.__main__ import main
from cellwright.models.gateway.in_flight import GatewayCrash, carry_on


def start(arguments: list[str]) -> None:
    """`POINT`, or nothing to live."""

    def die(reached: GatewayCrash) -> None:
        if reached is GatewayCrash(arguments[0]):
            os.kill(os.getpid(), signal.SIGKILL)

    main(die if arguments else carry_on)
