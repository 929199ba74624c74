"""A door started with a key in its environment gives it to the gateway and begins again without it.

The environment a process was started with can be read by every process of the same person for as long as it lives.
Dropping a variable does not change that; only a new start does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from cellwright.errors import CellwrightError
from cellwright.framing import BadFrame, pack_json, receive_json
from cellwright.models.keys import key_variables
from cellwright.models.launching import Launch, connect, connect_or_start

MARKER: Final = "CELLWRIGHT_KEYS_HANDED_OVER_BY"
"""The process that has done so: it keeps its number when it begins again, and never does so twice."""


def hand_over_keys(
    environment: Mapping[str, str],
    home: Path,
    argv: Sequence[str],
    *,
    warn: Callable[[str], None],
    launch: Launch | None = None,
) -> dict[str, str] | None:
    """Hand over every key in the environment, then begin this process again without them: no return.

    `argv` is the whole command line with its interpreter (`sys.orig_argv`). None if there is no key. If this process
    began again already and finds keys all the same, the environment to go on with. If no gateway can be started, `warn`
    is told, and the process begins again without its keys.
    """
    found = key_variables(environment)
    if not found:
        return None
    clean = {name: value for name, value in environment.items() if name not in found}
    if environment.get(MARKER) == str(os.getpid()):
        return clean
    keys = {provider: environment[name] for name, provider in found.items() if environment[name]}
    try:
        if keys:
            _give(keys, launch or Launch(home=home, environment=clean))
    except (CellwrightError, OSError, BadFrame, EOFError) as problem:
        warn(f"The model gateway did not take over {', '.join(sorted(found))}: {problem}")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *argv[1:]], {**clean, MARKER: str(os.getpid())})


def _give(keys: Mapping[str, str], launch: Launch) -> None:
    connection = connect(launch.home) or connect_or_start(launch)
    with connection:
        connection.settimeout(10)
        connection.sendall(pack_json({"kind": "keys", "number": 1, "keys": dict(keys)}))
        if receive_json(connection).get("kind") != "done":
            raise BadFrame("the keys were not taken")
