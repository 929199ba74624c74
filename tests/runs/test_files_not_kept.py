"""A run asks nobody about the files its notebook leaves: of too many none is kept, and whoever reads of it hears so."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import anyio
import pytest

from cellwright.journal.events import Recorded, encode
from cellwright.journal.names import stream_of
from cellwright.runs.deliver.report.markdown import report_markdown
from cellwright.runs.events import FilesNotKept
from cellwright.runs.views.progress import progress_line
from cellwright.runs.views.run_view import RunView, update_view
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Factory, Kernels, apply, at_once, create, finish, open_factory

MANY = """\
from pathlib import Path
for _number in range(30):
    Path(f"made-{_number}.txt").write_text("x")
total = 6
total"""
BIG = 'from pathlib import Path\nPath("big.bin").write_bytes(bytes(3_000_000))\ntotal = 6\ntotal'


async def delivered(factory: Factory, code: str, *limits: str) -> list[str]:
    """What stands among the caveats of a run with these limits; the report in every form, and the events, have it."""
    factory.script(at_once(apply(create(code, "total")), finish("6")))
    delivery = await factory.deliver(factory.goal(limits=limits))
    assert (delivery.why, delivery.status) == ("", "done")
    written = await anyio.Path(delivery.report).read_text()
    page, words = html.unescape(re.sub("</?code>", "`", written)), report_markdown(delivery)
    told = [encode(recorded.event).decode() async for recorded in factory.runs.records.log.read_all(stream_of("r"))]
    for caveat in delivery.caveats:
        assert (page.count(caveat), words.count(caveat)) == (1, 1)
        assert sum(json.dumps(caveat, ensure_ascii=False)[1:-1] in event for event in told) == 1
    return list(delivery.caveats)


def names(project: Path) -> set[str]:
    return {path.name for path in project.iterdir()} - {"sums.py", "sums.report.html"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "limit", "reason", "option"),
    [
        (
            MANY, "kept_files=10", "30 changed files, 30 bytes: more than 10 files are kept only if you say so",
            "kept_files=30",
        ),
        pytest.param(
            BIG, "kept_size=1m", "1 changed file, 2.9 MB: more than 1.0 MB are kept only if you say so",
            "kept_size=3m", marks=pytest.mark.slow,
        ),
        pytest.param(
            MANY, "keep_time=1ms", "keeping them took longer than 0.001 s", "keep_time=1s", marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
async def test_of_more_files_than_a_limit_lets_pass_none_is_kept_and_the_delivery_says_so_once(
    testbed: ModelTestbed, project: Path, kernels: Kernels, code: str, limit: str, reason: str, option: str
) -> None:
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    async with open_factory(testbed, project, kernels) as factory:
        assert await delivered(factory, code, limit) == [
            f"No file that the notebook changed was kept: {reason}. "
            f"To have them, run the notebook by itself, with {option}."
        ]
        assert names(project) == set()


@pytest.mark.slow
async def test_files_within_the_limits_are_kept_before_the_run_is_over_and_a_single_one_that_is_not_is_named(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    code = f"{MANY}\nimport os\nos.symlink('/etc/passwd', 'outside')"
    async with open_factory(testbed, project, kernels) as factory:
        told = await delivered(factory, code)
        assert told == ["outside was not kept: a symbolic link out of the project, to '/etc/passwd'."]
        assert names(project) == {f"made-{number}.txt" for number in range(30)}


def test_what_no_delivery_says_is_a_line_for_whoever_watches_and_stands_in_the_run() -> None:
    said = "No file that the notebook changed was kept: the disk is full."
    recorded = Recorded(stream="run:r", sequence=1, at_ms=1, event=FilesNotKept(text=said), link="")
    assert progress_line(RunView(run="r"), recorded.event) == f"files: {said}"
    assert update_view(RunView(run="r"), recorded).files == said
