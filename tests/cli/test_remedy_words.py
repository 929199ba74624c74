"""At a terminal, what to do next names the option or the command that does it."""

from __future__ import annotations

import json

import pytest

from cellwright.cli.render import console
from cellwright.cli.render.remedies import hint_text, reworded
from cellwright.cli.run.outcome import hand_over
from cellwright.errors import UserError
from cellwright.remedies import Remedy, remedy
from cellwright.runs.deliver.delivery import Delivery, delivery_json, parse_delivery
from cellwright.runs.goal.goal import CONFIGURE, NAME_DATA, WRITTEN


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        (NAME_DATA, "Name files or folders with --data."),
        (
            remedy("add_data", lead="Put longer texts in a file, and", what="it"),
            "Put longer texts in a file, and name it with --data.",
        ),
        (
            remedy("raise_limit", lead="Run as the owner, or", limits="disk inodes"),
            "Run as the owner, or raise --limit disk=… and --limit inodes=….",
        ),
        (
            remedy("see_doctor", lead="Check the network;", says="shows which are in force"),
            "Check the network; `cellwright doctor` shows which are in force.",
        ),
        (remedy("stop_daemon", how="kill"), "`cellwright serve stop --kill` ends it."),
        (
            remedy("rerun_notebook", lead="No file was kept.", notebook="my notes.py", limit="kept_files=30"),
            "No file was kept. To have them: `cellwright notebook run 'my notes.py' --limit kept_files=30`",
        ),
        ("Wait.", "Wait."),
    ],
)
def test_a_remedy_is_said_with_what_a_person_types(advice: str | Remedy, said: str) -> None:
    assert hint_text(advice) == said


def test_an_error_is_followed_by_the_remedy_in_the_terminals_words(capsys: pytest.CaptureFixture[str]) -> None:
    console.error(UserError("There is no data.", hint=NAME_DATA))
    assert capsys.readouterr().err == "error: There is no data.\nhint: Name files or folders with --data.\n"


def test_what_a_run_wrote_for_every_reader_is_said_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    again = remedy("resume_run", run="r")
    told = Delivery(
        status="failed", goal="Why?", why=f"It died. {again.sentence}", caveats=(CONFIGURE.sentence,), remedies=(again,)
    )
    stored = parse_delivery(json.loads(json.dumps(delivery_json(told))))
    assert stored == told
    hand_over(stored, "r", as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert said["why"] == "It died. `cellwright runs resume r` tries again."
    assert said["caveats"] == [
        "`cellwright models set-key PROVIDER` gives agents a model; `cellwright models list` shows which."
    ]


def test_other_words_of_a_run_stay_as_they_are() -> None:
    assert reworded("Name files as data. Resuming it helps.", WRITTEN) == "Name files as data. Resuming it helps."
