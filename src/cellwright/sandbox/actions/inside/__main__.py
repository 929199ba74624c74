"""`python -I -S __main__.py MONTY VERSION`: programs for whoever holds the other end of descriptor 3."""

from __future__ import annotations

import os
import sys
from importlib import import_module


def main(monty: str, version: str) -> None:
    """Answer until the host is gone."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (starts sooner)
    sys.path[:0] = [home]
    import_module("inside.loop").serve(3, monty, version)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
