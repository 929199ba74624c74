"""`python -I -S __main__.py MONTY VERSION`: programs for whoever holds the other end of descriptor 3."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location


def main(monty: str, version: str) -> None:
    """Answer until the host is gone."""
    home = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (starts sooner)
    # By its place, not by `sys.path`: on tier C Landlock lets this directory be listed, but not the one above it.
    spec = spec_from_file_location("inside", f"{home}/__init__.py", submodule_search_locations=[home])
    assert spec is not None and spec.loader is not None
    sys.modules["inside"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)
    import_module("inside.loop").serve(3, monty, version)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
