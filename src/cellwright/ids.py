"""The ids rooms share: the only vocabulary at the bottom of the house."""

from __future__ import annotations

from typing import NewType

CellId = NewType("CellId", str)
