"""`python -I -S __main__.py MONTY CLIENT VERSION`: programs for whoever holds the other end of descriptor 3."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType


def main(monty: str, client: str, version: str) -> None:
    """Answer until the host is gone."""
    home = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (starts sooner)
    _add_package("inside", home)
    # Only the compiled client is wanted: the package around it imports asyncio for 1,800 lines nobody calls here.
    _add_package("pydantic_monty", client)
    import_module("inside.loop").serve(3, monty, version)


def _add_package(name: str, folder: str) -> None:
    """Make the modules of a folder importable, without running the folder's `__init__`.

    By its place, not by `sys.path`: on tier C Landlock lets this folder be listed, but not the one above it.
    """
    package = ModuleType(name)
    package.__path__ = [folder]
    sys.modules[name] = package


if __name__ == "__main__":
    main(*sys.argv[1:])
