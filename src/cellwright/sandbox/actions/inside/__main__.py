"""`python -I -S __main__.py SITE_PACKAGES MONTY`: programs for whoever holds the other end of descriptor 3."""

from __future__ import annotations

import os
import sys
from importlib import import_module


def main(site_packages: str, monty: str) -> None:
    """Answer until the host is gone."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (starts sooner)
    sys.path[:0] = [home, site_packages]
    import_module("inside.loop").serve(3, monty)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
