"""Where the program lies that makes a notebook's page in a cage."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cellwright_guest import wire

PAGE_PROGRAM: Final = Path(wire.__file__).with_name("page_main.py")
