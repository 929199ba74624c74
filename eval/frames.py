"""pandas without its types, which are partial and tell a table from a number by accident."""

from __future__ import annotations

import importlib
from typing import Any, Final

pd: Final[Any] = importlib.import_module("pandas")
