"""Files of a connection: a bucket or a file server, by the name a person gave it, as a file system of fsspec's."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellwright_cells.file_system import ConnectionFileSystem


def files(name: str, *, fresh: bool = False) -> ConnectionFileSystem:
    """The files of the connection of this name. Nobody is asked whether there is one before the first is needed.

    Libraries take it as `filesystem=`, and from now on addresses such as `cellwright://NAME/path`, too. What was read
    before may be given again; `fresh` asks anew which files there are, and reads those that changed.
    """
    if not isinstance(name, str) or not name:
        raise TypeError("A connection has a name: the one under which a person added it.")
    if importlib.util.find_spec("fsspec") is None:
        raise ImportError("Files of connections need fsspec: add it to the notebook's packages.", name="fsspec")
    from cellwright_cells.file_system import file_system

    return file_system(name, fresh=fresh)
