"""Houses with a gateway, fresh journals, and a project of the person's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.conftest import template, testbed, where
from tests.app.agents_at_work import ROLE, accept_all
from tests.models.testbed import ModelTestbed
from tests.sandbox.egress.world import World, world

__all__ = ["template", "testbed", "where"]


@pytest.fixture
def internet(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def project(write_notebook: Callable[..., Path], testbed: ModelTestbed) -> Callable[..., Path]:
    """A notebook with these cells, in a project with roles of its own that have every tool; a person accepted them."""

    def make(*cells: str) -> Path:
        path = write_notebook(*(cells or ("x = 1",)))
        for name, style in (("helper", "tools"), ("programmer", "code")):
            role = path.parent / ".cellwright" / "roles" / f"{name}.md"
            role.parent.mkdir(parents=True, exist_ok=True)
            role.write_text(ROLE.format(name=name, style=style))
        accept_all(testbed.home, path.parent)
        return path

    return make
