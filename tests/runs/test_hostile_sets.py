"""Hostile data through the door a person uses: a useful notebook that is proven, or a refusal that says why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.analyst.hostile_sets import SETS, HostileSet
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, open_factory

EMPTY = notebook_source("import marimo as mo")
# One that is refused is quick; the others are whole runs of ten seconds and more.
ORDER = sorted(SETS, key=lambda each: each.name != "binary")


@pytest.mark.slow
@pytest.mark.sampled(len(SETS), often=64)
@pytest.mark.parametrize("hostile", ORDER, ids=lambda each: each.name)
async def test_hostile_data_becomes_a_proven_notebook_or_is_refused_with_a_reason(
    hostile: HostileSet, testbed: ModelTestbed, tmp_path: Path, kernels: Kernels
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    hostile.make(project)
    data = tuple(str(path) for path in sorted(project.iterdir()))
    # One that is there and has no header is proven on our own packages: sixty environments would take their time.
    (project / "first.py").write_text(EMPTY)
    async with open_factory(testbed, project, kernels) as factory:
        goal = factory.goal("Tell me about this data.", notebook="first.py", data=data, models=("analyst",))
        delivery = await factory.deliver(goal)
    if hostile.refused:
        assert delivery.status == "failed"
        assert re.search(hostile.refused, delivery.why)
        assert (project / "first.py").read_text() == EMPTY
    else:
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.proof
        assert len(f"{delivery.answer} {delivery.trust}".split()) > 10


def test_there_are_more_than_sixty_hostile_sets_of_different_names() -> None:
    assert len({each.name for each in SETS}) == len(SETS) > 60
