"""What tests of the daemon share: testbeds with daemons forked from one warm process, journals with their tables."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import dbos
import pytest

from cellwright.journal.database import Database, JournalLocation
from cellwright.journal.tables import create_tables
from tests.server.daemon_testbed import DaemonTestbed
from tests.server.warm import Warm, warm_process


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Generator[Warm]:
    with warm_process(tmp_path_factory.mktemp("warm")) as process:
        yield process


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
def testbed(tmp_path: Path, template: Path, warm: Warm) -> Generator[DaemonTestbed]:
    with DaemonTestbed.open(tmp_path, template, warm) as opened:
        yield opened
