"""Recordings: what is kept of a relay's folder, and what every recording must be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cellwright.testing import CallTool, CallTools, Say
from eval.freeze import main, read_relay
from eval.recording import (
    RecordedAnswer,
    RecordedCall,
    TaskRecording,
    read_recording,
    recorded_tasks,
    scripted,
    write_recording,
)
from eval.task import read_tasks
from eval.traffic import Traffic

GOALS = {task.id: task.goal for task in read_tasks(["level_break", "doubled_rows"])}


def request(task: str, *more: dict[str, Any]) -> dict[str, Any]:
    first = [{"role": "system", "content": "…"}, {"role": "user", "content": f"Your goal:\n{GOALS[task]}\n"}]
    return {"model": "relay", "messages": [*first, *more]}


def relay(folder: Path, *traffic: tuple[dict[str, Any], dict[str, Any] | None]) -> Path:
    """Requests in order, and their answers where there are any."""
    for number, (asked, answer) in enumerate(traffic, start=1):
        (folder / f"{number:04d}.req.json").write_text(json.dumps(asked), encoding="utf-8")
        if answer is not None:
            (folder / f"{number:04d}.ans.json").write_text(json.dumps(answer), encoding="utf-8")
    return folder


def test_the_last_run_that_was_answered_to_its_end_is_what_is_kept_of_a_task(tmp_path: Path) -> None:
    second = {"role": "assistant", "content": "Looked."}
    folder = relay(
        tmp_path,
        (request("level_break"), {"content": "An older run."}),
        (
            request("level_break"),
            {"content": "Looking.", "tool_calls": [{"name": "apply", "arguments": {"edits": []}}]},
        ),
        (request("doubled_rows"), {"content": "Between."}),
        (request("level_break", second), {"content": None, "tool_calls": [{"name": "finish", "arguments": "{"}]}),
        (request("level_break"), None),
    )
    kept = {one.task: one for one in read_relay(folder, read_tasks(list(GOALS)), by="somebody", why="a test")}
    assert set(kept) == {"level_break", "doubled_rows"}
    assert kept["level_break"].answers == (
        RecordedAnswer(content="Looking.", tool_calls=(RecordedCall(name="apply", arguments={"edits": []}),)),
        RecordedAnswer(tool_calls=(RecordedCall(name="finish", arguments="{"),)),
    )
    assert kept["level_break"].live.requests == 2
    assert [answer.content for answer in kept["doubled_rows"].answers] == ["Between."]


def test_a_folder_without_an_answered_run_is_a_mistake_of_whoever_typed_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), "--by", "somebody", "--why", "a test"]) == 2
    assert "No answered run of a task" in capsys.readouterr().err


def test_what_was_never_recorded_is_not_frozen_anew(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "level_break", "--why", "a test"]) == 2
    assert "No recording of 'level_break'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["folder", "--why", "a test"], ["folder", "--by", "somebody"], []])
def test_who_freezes_says_who_answered_and_why(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "--by" in (told := capsys.readouterr().err) or "--why" in told


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    calls = (RecordedCall(name="apply", arguments={"edits": [{"code": "x = 'ü'\n"}]}),)
    recording = TaskRecording(
        task="level_break", answered_by="somebody", why="a test", is_right=True, live=Traffic(requests=1, characters=2),
        frozen=Traffic(requests=3, characters=4), answers=(RecordedAnswer(content="So.", tool_calls=calls),),
    )  # fmt: skip
    write_recording(recording, tmp_path)
    assert read_recording("level_break", tmp_path) == recording
    assert recorded_tasks(tmp_path) == ["level_break"]


def test_an_answer_is_said_as_it_was_recorded() -> None:
    call = RecordedCall(name="finish", arguments={"answer": "4"})
    assert scripted(RecordedAnswer(content="So.")) == Say("So.")
    assert scripted(RecordedAnswer(content="So.", tool_calls=(call, call))) == CallTools(
        (CallTool("finish", {"answer": "4"}), CallTool("finish", {"answer": "4"})), text="So."
    )


@pytest.mark.parametrize("task", recorded_tasks())
def test_every_recording_is_of_a_task_and_was_right_and_says_by_whom_and_why(task: str) -> None:
    recording = read_recording(task)
    assert [one.id for one in read_tasks([recording.task])] == [task]
    assert recording.is_right
    assert recording.answered_by
    assert recording.why
    assert 1 <= recording.frozen.requests <= len(recording.answers)
