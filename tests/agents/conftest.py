"""Houses with a gateway forked from one warm process, journals with their tables made, and open notebooks."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from pathlib import Path

import dbos
import pytest

from cellwright.journal.database import Database, JournalLocation
from cellwright.journal.tables import create_tables
from tests.models.testbed import ModelTestbed, Warm


@pytest.fixture
def testbed(warm: Warm, tmp_path: Path) -> Generator[ModelTestbed]:
    with ModelTestbed.open(tmp_path / "testbed", warm) as opened:
        yield opened


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "journal.db"
    place = JournalLocation.of(path)
    dbos.DBOS.migrate(place.url)
    database = Database(place)
    database.write_now(create_tables)
    database.close()
    return path


@pytest.fixture
def where(tmp_path: Path, template: Path) -> Path:
    """A fresh journal."""
    shutil.copyfile(template, tmp_path / "journal.db")
    return tmp_path / "journal.db"
