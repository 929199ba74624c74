"""The analyst in runs: from words and data to a proven notebook without any model, steered and honest like agents."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from cellwright.agents.role import built_in_roles
from cellwright.app.doctor import has_model
from cellwright.app.runs import run_folder
from cellwright.journal.events import AuditRecorded, StepStarted
from cellwright.journal.names import stream_of
from cellwright.models.client.gateway_client import Models
from cellwright.runs.execute import steering_commands
from cellwright.runs.plan.plan import DropTask
from cellwright.settings import Settings
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import ADA, Factory, Kernels, open_factory
from tests.runs.histories import changes_in, undo_in_file

SECTIONS = ["read", "answer"]
FULL = ["read", "quality", "look", "test", "findings", "tell"]
WORDS = "Compare revenue by region."
LOCAL = '[tiers]\nsmart = ["ollama:x"]\n[endpoints.ollama]\nbase_url = "{address}"\n'


def sales(rows: int = 120) -> str:
    """Revenue is higher in North, planted; one sentinel."""
    lines = ["order,region,revenue,channel"]
    for number in range(rows):
        region, step = ("North", "South")[number % 2], (number * 37) % 41
        revenue = 9999 if number == 7 else (150 if region == "North" else 90) + step
        lines.append(f"{number + 1},{region},{revenue},{('web', 'shop', 'phone')[number % 3]}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sales.csv").write_text(sales())
    return folder


def analysts_goal(factory: Factory, words: str = WORDS, **more: Any) -> Any:
    given: dict[str, Any] = {"models": ("analyst",), "data": (str(factory.project / "sales.csv"),)}
    return factory.goal(words, notebook="first.py", **(given | more))


async def test_words_and_data_become_a_proven_notebook_without_a_model_and_all_of_it_is_recorded_and_undoable(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(analysts_goal(factory))
        assert (delivery.why, delivery.status) == ("", "done")
        assert [(task.id, task.status) for task in delivery.tasks] == [(section, "done") for section in SECTIONS]
        assert delivery.proof
        assert delivery.checks
        assert all(check.has_passed for check in delivery.checks)
        # One value far off makes South first, and that is said.
        assert delivery.headline.startswith("South has the most revenue")
        assert delivery.headline.endswith("without values far off all others it is North")
        assert delivery.picture == "report_picture"
        assert [each.cell for each in delivery.findings][:2] == ["report_finding_1", "report_finding_2"]
        assert (delivery.microdollars, delivery.tokens, testbed.provider.requests) == (0, 0, ())
        text = factory.notebook("first.py")
        assert text.index("# ") < text.index("read_csv")
        assert "import cellwright" not in text
        events = [each.event async for each in factory.runs.records.log.read_all(stream_of("r"))]
        steps = [event.name for event in events if isinstance(event, StepStarted)]
        assert {"look at the data", "fit read", "tool apply", "see read", "read what is told"} <= set(steps)
        assert {event.role for event in events if isinstance(event, AuditRecorded)} == {"analyst"}
        memory = run_folder(replace(Settings.read(), home=testbed.home), "r") / "desk.json"
        assert [turn.key.rpartition("-")[2] for turn in changes_in(memory)[:2]] == SECTIONS
        await undo_in_file(project / "first.py", memory)
        assert "read_csv" not in factory.notebook("first.py")


@pytest.mark.slow
async def test_asked_for_all_of_it_every_column_is_looked_at_and_every_test_made(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        (project / "first.py").write_text(notebook_source("import marimo as mo"))
        delivery = await factory.deliver(analysts_goal(factory, depth="full"))
        assert (delivery.why, delivery.status) == ("", "done")
        assert [(task.id, task.status) for task in delivery.tasks] == [(section, "done") for section in FULL]
        assert "North" in delivery.answer
        assert "all_tests" in factory.notebook("first.py")


@pytest.mark.slow
async def test_an_overview_is_chosen_from_every_comparison_and_says_how_many_there_were(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        (project / "first.py").write_text(notebook_source("import marimo as mo"))
        delivery = await factory.deliver(analysts_goal(factory, "Tell me about this data."))
        assert (delivery.why, delivery.status) == ("", "done")
        assert "revenue by region" in delivery.headline
        assert re.search(r"\d+ comparisons were made and corrected together", delivery.trust)
        assert "Mann-Whitney" in delivery.findings[0].statistics or "Brunner-Munzel" in delivery.findings[0].statistics
        assert "def examine" not in factory.notebook("first.py")


async def test_a_model_is_there_if_it_has_a_key_or_somebody_listens(
    testbed: ModelTestbed, project: Path, cache: Path
) -> None:
    roles = built_in_roles()
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        assert await has_model(models, roles, is_private=False)
        assert not await has_model(models, roles, is_private=True)
    testbed.kill_gateway()
    (testbed.home / "models.toml").write_text(LOCAL.format(address="http://127.0.0.1:9/v1"))
    async with Models.open(testbed.home, launch=replace(testbed.launch(), keys={})) as models:
        assert not await has_model(models, roles, is_private=False)
    testbed.kill_gateway()
    (testbed.home / "models.toml").write_text(LOCAL.format(address=testbed.provider.base_url("openai-chat")))
    async with Models.open(testbed.home, launch=replace(testbed.launch(), keys={})) as models:
        assert await has_model(models, roles, is_private=True)


@pytest.mark.slow
async def test_a_goal_that_needs_a_model_is_refused_with_what_to_configure_and_leaves_nothing(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(analysts_goal(factory, "Write an essay about the sea."))
        assert delivery.status == "failed"
        assert "A provider's key gives agents a model." in delivery.why
        assert not (project / "first.py").exists()


@pytest.mark.slow
async def test_without_data_it_asks_for_it(testbed: ModelTestbed, project: Path, kernels: Kernels) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        (project / "sales.csv").unlink()
        delivery = await factory.deliver(analysts_goal(factory, data=()))
        assert delivery.status == "failed"
        assert "Name files or folders as data." in delivery.why
        assert not (project / "first.py").exists()


@pytest.mark.slow
async def test_a_file_that_is_no_data_is_refused_in_words(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        (project / "sales.csv").write_bytes(bytes(range(256)) * 64)
        delivery = await factory.deliver(analysts_goal(factory))
        assert delivery.status == "failed"
        assert "sales.csv" in delivery.why


@pytest.mark.slow
async def test_what_a_persons_own_packages_lack_is_said_as_the_one_cause_and_the_notebook_stays_as_it_was(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        # Something that ours do not satisfy, and small: so it has packages of its own.
        wanted = f'"marimo", "pandas", "idna!={version("idna")}"'
        header = f'# /// script\n# requires-python = ">=3.11"\n# dependencies = [{wanted}]\n# ///\n\n'
        mine = header + notebook_source("x = 1")
        (project / "first.py").write_text(mine)
        delivery = await factory.deliver(analysts_goal(factory))
        assert (delivery.status, delivery.problems, delivery.checks) == ("failed", (), ())
        assert "without altair and scipy, which the analyst's cells need" in delivery.why
        assert "`uv add --script first.py altair scipy`" in delivery.why
        assert factory.notebook("first.py") == mine


@pytest.mark.slow
async def test_in_a_persons_notebook_their_cells_stay_and_data_of_the_project_is_found(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        mine = notebook_source("import marimo as mo", "import pandas as pd", "sales = 'mine'", "tests = 1")
        (project / "first.py").write_text(mine)
        delivery = await factory.deliver(analysts_goal(factory, data=()))
        assert (delivery.why, delivery.status) == ("", "done")
        text = factory.notebook("first.py")
        assert text.index("sales = 'mine'") < text.index("read_csv")
        assert text.count("import pandas as pd") == 1
        assert text.count("tests = 1") == 1


@pytest.mark.slow
@pytest.mark.rare
async def test_a_new_goal_midway_is_planned_anew_and_what_stays_the_same_is_kept(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        (project / "first.py").write_text(notebook_source("import marimo as mo"))
        await factory.start(analysts_goal(factory))
        await factory.until(lambda seen: _is(seen, "read", "done"))
        await steering_commands.change_goal(factory.runs.records, "r", "Compare revenue by channel.", ADA)
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.goal == "Compare revenue by channel."
        assert factory.notebook("first.py").count("read_csv(") == 1
        assert "channel" in delivery.answer


@pytest.mark.slow
@pytest.mark.rare
async def test_it_pauses_does_without_a_dropped_task_and_does_it_later_in_a_run_of_its_own(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        (project / "first.py").write_text(notebook_source("import marimo as mo"))
        await factory.start(analysts_goal(factory, depth="full"))
        await factory.until(lambda seen: seen.plan is not None)
        await steering_commands.pause(factory.runs.records, "r", ADA)
        await factory.asked("paused")
        await steering_commands.change_plan(factory.runs.records, "r", DropTask(task="look"), ADA)
        assert await steering_commands.resume(factory.runs.records, "r", ADA)
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert {task.id: task.status for task in delivery.tasks}["look"] == "dropped"
        before = factory.notebook("first.py")
        again = await factory.delivery(await factory.runs.retry("r", "look", person="ada"))
        assert (again.why, again.status) == ("", "done")
        after = factory.notebook("first.py")
        assert len(after) > len(before)
        assert (after.count("answer_text = "), after.count("read_csv(")) == (1, 1)


@pytest.mark.slow
async def test_it_stops_when_it_is_cancelled(testbed: ModelTestbed, project: Path, kernels: Kernels) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        await factory.start(analysts_goal(factory))
        await factory.until(lambda seen: _is(seen, "read", "done"))
        await factory.runs.cancel("r", reason="enough")
        assert (await factory.runs.records.status("r")).standing == "cancelled"


def _is(seen: Any, task: str, status: str) -> bool:
    found = seen.plan.find(task) if seen.plan is not None else None
    return found is not None and found.status == status
