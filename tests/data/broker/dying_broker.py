"""The broker as it is, with one difference: it dies where a test says. `python -I dying_broker.py POINT`."""

from __future__ import annotations

import os
import signal
import sys

from cellwright.data.broker.crash import BrokerCrash
from cellwright.server.data_broker import main


def die(reached: BrokerCrash) -> None:
    if reached is BrokerCrash(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(die)
