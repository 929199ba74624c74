"""The connection of each run: proxies, certificates and indexes of the command that started it, over restarts too.

They may hold passwords, so they lie in a file of the state directory that only its owner can read, and nowhere else:
not in the journal, not in a log, not in a prompt.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import Defect

_FILE: Final = "connection.json"
_VARIABLES: Final = TypeAdapter(dict[str, str])


def keep_connection(folder: Path, variables: Mapping[str, str]) -> None:
    """Remember these for the run of this folder; a run that has some keeps them. Blocking."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    unseen = folder / f".{_FILE}.{os.getpid()}"
    # Private from its first byte; complete before it has its name.
    with os.fdopen(os.open(unseen, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(_VARIABLES.dump_json(dict(variables)))
        os.fsync(file.fileno())
    try:
        os.link(unseen, folder / _FILE)
    except FileExistsError:
        # The same start was said twice.
        pass
    finally:
        unseen.unlink()


def kept_connection(folder: Path) -> dict[str, str] | None:
    """What the run of this folder was started with; None: nobody said. Blocking."""
    try:
        return _VARIABLES.validate_json((folder / _FILE).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Defect(f"The connection kept in {str(folder)!r} cannot be read.") from error
