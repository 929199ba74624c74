"""Houses with a gateway, forked from one warm process."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.models.testbed import ModelTestbed, Warm


@pytest.fixture
def testbed(warm: Warm, tmp_path: Path) -> Generator[ModelTestbed]:
    with ModelTestbed.open(tmp_path / "home", warm) as opened:
        yield opened
