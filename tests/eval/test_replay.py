"""Recorded answers lead to right deliveries, with no more requests and characters than when they were frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest

from eval.__main__ import assigned, chosen, main
from eval.evaluation import evaluate
from eval.recording import TaskRecording, read_recording, recorded_tasks
from eval.replay_worker import open_replay
from eval.results import Result, problems, table
from eval.task import read_tasks

CHEAPEST: Final = "ragged_log"


async def replayed(recordings: Sequence[TaskRecording], effort: str = "normal") -> list[Result]:
    async with open_replay(recordings, seconds=400, effort=effort) as worker:
        tasks = read_tasks([recording.task for recording in recordings])
        return await evaluate(tasks, [worker], at_once=2, told=lambda _: None)


@pytest.mark.slow
async def test_a_recorded_path_is_right_and_has_not_grown() -> None:
    results = await replayed([read_recording(CHEAPEST)])
    assert [problems(one) for one in results] == [""], table(results)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.rare), pytest.param(2, marks=pytest.mark.rare)])
async def test_every_recorded_path_is_right_and_has_not_grown(part: int) -> None:
    others = [task for task in recorded_tasks() if task != CHEAPEST][part::3]
    results = await replayed([read_recording(task) for task in others])
    assert [one.task for one in results if not one.is_good] == [], table(results)


@pytest.mark.slow
async def test_a_reviewer_that_goes_on_for_as_long_as_it_may_adds_no_more_than_its_share() -> None:
    tasks = ["sqlite_difference", "related_measures", "slope"]
    results = await replayed([read_recording(task) for task in tasks], "thorough")
    assert [(one.requests, problems(one)) for one in results] == [(3, ""), (2, ""), (1, "")], table(results)
    assert all(one.reviewed is not None and one.reviewed.requests for one in results)


@pytest.mark.slow
async def test_a_run_that_asks_beyond_its_recording_ends_and_says_so() -> None:
    whole = read_recording("no_difference")
    [result] = await replayed([replace(whole, answers=whole.answers[:1])])
    assert (result.has_passed, result.answer) == (False, "")
    assert "The recording of 'no_difference' is at its end" in result.why
    assert result.requests == 2


def test_without_a_model_the_analyst_works_and_then_the_recordings() -> None:
    assert [(who, [task.id for task in tasks]) for who, tasks in assigned([CHEAPEST, "level_break"], None)] == [
        ("analyst", [CHEAPEST, "level_break"]),
        ("replay", [CHEAPEST]),
    ]
    assert [who for who, _ in assigned([], None)] == ["analyst", "replay"]
    assert [who for who, _ in assigned(["level_break"], None)] == ["analyst"]
    assert [who for who, _ in assigned([], "near:one")] == ["near:one"]
    assert [task.id for task in chosen([], "replay")] == recorded_tasks()


def test_a_task_without_a_recording_is_a_mistake_of_whoever_typed_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", "replay", "--tasks", "level_break"]) == 2
    assert f"No recording of 'level_break'. Recorded: {', '.join(recorded_tasks())}." in capsys.readouterr().err


def test_a_replay_takes_no_other_state_directory(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--model", "replay", "--home", "elsewhere"])
    assert "leave --home out" in capsys.readouterr().err
