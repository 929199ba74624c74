"""Houses with a gateway, forked from one warm process."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.models.houses import House, Warm


@pytest.fixture
def house(warm: Warm, tmp_path: Path) -> Generator[House]:
    with House.open(tmp_path / "home", warm) as opened:
        yield opened
