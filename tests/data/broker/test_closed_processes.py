"""What holds secrets is closed to other processes of the same person: the broker, and each of its workers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.sandbox.conftest import command_as, plain_uid

REPOSITORY = Path(__file__).parents[3]


def program(*words: str) -> list[str]:
    """For root everything is open, so it would show nothing."""
    path = ("/usr/bin/env", f"PYTHONPATH={REPOSITORY}")
    return command_as("plain", [*path, sys.executable, "-m", "tests.data.broker.person_program", *words])


@pytest.mark.slow
def test_no_other_process_of_the_person_can_look_into_the_broker_or_a_worker() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as silent:
        if os.getuid() == 0:
            os.chown(folder, plain_uid(), plain_uid())
        port = str(silent.getsockname()[1])
        words = program("open", folder, port, f"https://localhost:{port}")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(words, **pipes, text=True, cwd=REPOSITORY) as process:
            assert process.stdout is not None
            pids = json.loads(process.stdout.readline())
            peeping = program("peep", *map(str, pids))
            seen = subprocess.run(peeping, cwd=REPOSITORY, check=True, capture_output=True, timeout=60).stdout
            process.communicate("\n", timeout=60)
    *closed, usual = json.loads(seen)
    assert closed == [["status"]] * 3
    # What is not closed is open: the program that asked them, of the same person.
    assert {"environ", "maps"} <= {*usual}
