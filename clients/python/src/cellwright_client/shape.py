"""What all bodies have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """A body. What a newer server says besides is not read; what was not set is not sent."""

    # Built when it is first used: few programs use more than a handful.
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)
