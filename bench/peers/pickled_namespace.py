"""The whole namespace by pickle: what a session that cannot be forked would do to have its state twice.

All variables are written to a file with the newest protocol, and read by an interpreter that was just started.
"""

from __future__ import annotations

import asyncio
import os
import pickle  # noqa: TID251  it is what is measured, in a process of its own
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.peers.conversation import Answer, converse

_LOAD = "import pickle, sys\nwith open(sys.argv[1], 'rb') as file:\n    print(len(pickle.load(file)))"


class Namespace:
    """The variables of some code that has run."""

    def __init__(self) -> None:
        self._variables: dict[str, Any] = {}

    async def run(self, code: str, folder: str) -> Answer:
        """Run the code as a notebook would have."""
        os.chdir(folder)
        self._variables = {}
        exec(compile(code, "code", "exec"), self._variables)
        del self._variables["__builtins__"]
        return {"names": len(self._variables)}

    async def twice(self, file: str) -> Answer:
        """Write everything, and read it in a new process; milliseconds until it has all of it."""
        kept = {name: value for name, value in self._variables.items() if not isinstance(value, ModuleType)}
        return {"ms": _written_and_read(kept, Path(file))}


def _written_and_read(kept: dict[str, Any], file: Path) -> float:
    began = time.perf_counter()
    with file.open("wb") as writing:
        pickle.dump(kept, writing, protocol=5)
    said = subprocess.run([sys.executable, "-c", _LOAD, str(file)], capture_output=True, check=True, text=True)
    ms = (time.perf_counter() - began) * 1e3
    file.unlink()
    if int(said.stdout) != len(kept):
        raise ValueError(f"{said.stdout} of {len(kept)} variables arrived")
    return ms


if __name__ == "__main__":
    namespace = Namespace()
    asyncio.run(converse({"run": namespace.run, "twice": namespace.twice}))
