"""A gateway's ledger at work in processes that are killed -9; told over stdout what each had been promised.

Usage: FOLDER COUNT…: for each count a child is forked that writes calls without end and is killed once so many of its
methods have returned. One line of JSON a child: the methods that had returned by then, in order.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from tests.models.accounts import answer, call, cancelled, failed, opened, send


def write_for_ever(folder: Path, told: int) -> None:
    """Every third call fails first, every fifth is cancelled; each return is told at once."""

    def tell(what: str, name: str) -> None:
        os.write(told, f"{what} {name}\n".encode())

    ledger = opened(folder)
    for number in range(1_000_000):
        asked = call(f"call-{number}", text=f"Question {number}?")
        send(ledger, asked)
        tell("sent", asked.id)
        if number % 3 == 0:
            ledger.attempted(asked.id, failed())
            tell("attempted", asked.id)
        if number % 5 == 0:
            ledger.cancelled(asked.id, cancelled())
            tell("cancelled", asked.id)
        else:
            ledger.answered(asked.id, answer(f"Answer {number}. " * 100))
            tell("answered", asked.id)


def kill_after(folder: Path, count: int) -> list[str]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            write_for_ever(folder, writer)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as told:
        lines = [told.readline() for _ in range(count)]
        os.kill(pid, signal.SIGKILL)
        lines += told.readlines()
    os.waitpid(pid, 0)
    return [line.strip() for line in lines if line.endswith("\n")]


def main() -> None:
    folder = Path(sys.argv[1])
    for count in map(int, sys.argv[2:]):
        (folder / str(count)).mkdir()
        sys.stdout.write(json.dumps(kill_after(folder / str(count), count)) + "\n")


if __name__ == "__main__":
    main()
