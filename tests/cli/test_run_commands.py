"""`cellwright run` through its real door: what was typed, and a goal that becomes a notebook in a daemon of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cellwright.models.client.gateway_process import running_pid
from cellwright.models.config.keys import key_variables
from cellwright.runs.goal.request import GoalRequest, new_notebook_path, read_goal, slug_of
from cellwright.testing import CallTool, ProviderServer
from tests.cli.in_process import Said, run_here
from tests.cli.terminal import on_terminal
from tests.conftest import notebook_source
from tests.runs.factory import apply, create, finish, plan, task

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 300
WORDS = "Sum the numbers."
MODEL = ("--model", "near:one")
CONFIGURATION = """
[tiers]
smart = ["near:one"]
[endpoints.near]
kind = "openai-chat"
base_url = "{chat}"
key = "none"
local = false
[models."near:one"]
input_price_per_million = "1 USD"
output_price_per_million = "2 USD"
"""
SUM = (
    plan(task("sum"), title="The sum of the numbers"),
    apply(create("total = 1 + 2 + 3\ntotal", "total")),
    apply(create('mo.md("# The sum\\n\\nIt is 6.")', "answer", at="start")),
    finish("The numbers sum to 6."),
)


# ── what was typed ──


def test_a_goal_is_read_with_absolute_paths(tmp_path: Path) -> None:
    project, here = tmp_path / "project", tmp_path / "project" / "work"
    (project / ".git").mkdir(parents=True)
    here.mkdir()
    (here / "sales.csv").write_text("a\n1\n")
    typed = GoalRequest(
        words="Why did revenue fall in Q3?",
        data=["sales.csv", "raw=sales.csv"],
        models=["near:one"],
        budget="0.50",
        approve="never",
        is_private=True,
        priority=3,
    )
    goal = read_goal(typed, person="ada", here=here)
    assert goal.notebook == str(here / "why-did-revenue-fall-in-q3.py")
    assert goal.project == str(project)
    assert goal.data == (str(here / "sales.csv"), f"raw={here / 'sales.csv'}")
    assert (goal.models, goal.budget_usd, goal.approve) == (("near:one",), Decimal("0.50"), "never")
    assert (goal.is_private, goal.priority, goal.person) == (True, 3, "ada")


@pytest.mark.parametrize(
    ("typed", "says", "meant"),
    [
        (
            ("Sum the prices.", "sales.csv"),
            "A file goes with --data",
            "cellwright run 'Sum the prices.' --data sales.csv",
        ),
        (
            ("Sum it.", "my sales.csv", "--approve", "never", "--data", "x=b.csv", "--data", "c.csv", "--json"),
            "A file goes with --data",
            "cellwright run 'Sum it.' --data 'my sales.csv' --data x=b.csv --data c.csv --approve never --json",
        ),
        (
            ("sales.csv", "Sum the prices."),
            "A file goes with --data",
            "cellwright run 'Sum the prices.' --data sales.csv",
        ),
        (
            ("Sum it.", "there-is-none.csv", "raw=folder/"),
            "A file goes with --data",
            "cellwright run 'Sum it.' --data there-is-none.csv --data raw=folder/",
        ),
        (
            ("Sum", "the", "prices", "sales.csv"),
            "A goal of several words stands in quotes, a file goes with --data",
            "cellwright run 'Sum the prices' --data sales.csv",
        ),
        (
            ("Sum", "the", "prices", "--private"),
            "A goal of several words stands in quotes",
            "cellwright run 'Sum the prices' --private",
        ),
    ],
    ids=["file", "options", "file-first", "several", "words-and-file", "words"],
)
def test_what_is_typed_beside_the_goal_is_answered_with_the_command_line_that_was_meant(
    tmp_path: Path, typed: tuple[str, ...], says: str, meant: str
) -> None:
    for name in ("sales.csv", "my sales.csv"):
        (tmp_path / name).write_text("a\n1\n")
    said = run_here(tmp_path / "home", "run", *typed, code=2, folder=tmp_path)
    assert said.stdout == ""
    assert said.stderr.startswith("error: `cellwright run` takes one goal, and was given ")
    assert said.stderr.splitlines()[1:] == [f"hint: {says}: `{meant}`"]
    assert not (tmp_path / "home" / "journal.db").exists()


def test_a_new_notebook_is_named_after_the_goal_and_takes_no_other_ones_place(tmp_path: Path) -> None:
    (tmp_path / "sum-it.py").write_text("")
    taken = {str(tmp_path.resolve() / "sum-it-2.py")}
    assert new_notebook_path("Sum it!", tmp_path, taken).name == "sum-it-3.py"


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("Why did revenue fall in Q3?", "why-did-revenue-fall-in-q3"),
        ("Über Straßen", "uber-strassen"),
        ("日本の売上", "notebook"),
        ("../../etc/passwd", "etc-passwd"),
        ("x" * 200, "x" * 48),
        ("one two three four five six seven eight nine ten eleven", "one-two-three-four-five-six-seven-eight-nine-ten"),
    ],
)
def test_a_goal_becomes_a_file_name(words: str, slug: str) -> None:
    assert slug_of(words) == slug


def test_an_existing_notebook_is_extended_and_a_new_name_is_taken(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(notebook_source("x = 1"))
    for name in ("mine.py", "new.py"):
        goal = read_goal(GoalRequest(words="Go.", notebook=Path(name)), person="ada", here=tmp_path)
        assert goal.notebook == str(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "No goal"),
        (["  "], "No goal"),
        (["-"], "No goal"),
        (["x" * 20_001], "at most 20,000 characters"),
        (["Go.", "--data", "nowhere.csv"], "No data at"),
        (["Go.", "--data", "mine.py", "--data", "sub/mine.py"], "are named 'mine.py'"),
        (["Go.", "--data", "a/b=mine.py"], "'a/b' is no name for data"),
        (["Go.", "--notebook", "plain.py"], "plain.py"),
        (["Go.", "--notebook", "table.csv"], "is no notebook"),
        (["Go.", "--notebook", "no/where/new.py"], "There is no folder"),
        (["Go.", "--project", "nowhere"], "There is no folder"),
        (["Go.", "--project", "sub", "--notebook", "mine.py"], "is not inside the project"),
        (["Go.", "--budget", "0"], "'0' is no budget"),
        (["Go.", "--budget", "nan"], "'nan' is no budget"),
        (["Go.", "--budget", "a lot"], "'a lot' is no budget"),
        (["Go.", "--budget", "1e99"], "'1e99' is no budget"),
        (["Go.", "--budget", "-1"], "'-1' is no budget"),
        (["Go.", "--approve", "sometimes"], "Unknown --approve 'sometimes'"),
        (["Go.", "--model", "gpt"], "'gpt' is no model"),
        (["Go.", "--model", "nosuch:thing"], "No endpoint is called 'nosuch'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_bad_input_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "sub").mkdir(parents=True)
    (project / "mine.py").write_text(notebook_source("x = 1"))
    (project / "sub/mine.py").write_text(notebook_source("x = 1"))
    (project / "plain.py").write_text("print('I am no notebook')\n")
    (project / "table.csv").write_text("a\n1\n")
    before = sorted(project.rglob("*"))
    monkeypatch.chdir(project)
    said = run_here(home, "run", *words, code=2)
    assert says in said.stderr
    assert "hint:" in said.stderr
    assert said.stdout == ""
    assert not home.exists()
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["research", "Who pays?", "--data", "a.txt", "--model", "nosuch:thing"], "No endpoint is called 'nosuch'"),
        (["extract", "party", "a.txt", "--model", "nosuch:thing"], "No endpoint is called 'nosuch'"),
        (["extract", "party", "a.txt", "--cap", "abc"], "--cap: 'abc' is no budget"),
        (["research", "Who pays?", "--data", "a.txt", "--budget", "abc"], "--budget: 'abc' is no budget"),
        (["research", "Who pays?", "--data", "empty"], "There are no documents in these folders."),
        (["research", "--data", "a.txt"], "No question."),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_a_mistake_in_what_is_to_be_read_is_said_before_anything_starts(
    tmp_path: Path, words: list[str], says: str
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "empty").mkdir(parents=True)
    (project / "a.txt").write_text("Anna pays.")
    said = run_here(home, *words, folder=project, code=2)
    assert says in said.stderr
    assert "hint:" in said.stderr
    assert not home.exists()
    assert sorted(path.name for path in project.iterdir()) == ["a.txt", "empty"]


def test_a_long_path_in_an_error_and_in_its_hint_is_whole(tmp_path: Path) -> None:
    deep = tmp_path / "quarterly-figures-of-the-northern-branches" / "second-half-as-corrected-in-september"
    deep.mkdir(parents=True)
    (deep / "plain.py").write_text("print('I am no notebook')\n")
    said = run_here(tmp_path / "home", "run", "Go.", "--notebook", "plain.py", folder=deep, code=2)
    assert said.stderr.count(str(deep / "plain.py")) == 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [[], ["-"], [b"\xff\xfe sum"]], ids=["piped", "dash", "typed"])
def test_a_goal_that_is_no_text_is_said(tmp_path: Path, words: list[str | bytes]) -> None:
    typed = [os.fsdecode(word) for word in words]
    said = run_here(tmp_path / "home", "run", *typed, typed=b"\xff\xfe sum", folder=tmp_path, code=2)
    assert "is no text" in said.stderr
    assert list(tmp_path.iterdir()) == []


# ── from a goal to a notebook ──


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with a project and a state directory of their own, and a model on loopback."""

    home: Path
    project: Path
    provider: ProviderServer

    @property
    def environment(self) -> dict[str, str]:
        held = key_variables(os.environ)
        kept = {name: value for name, value in os.environ.items() if name not in held}
        return kept | {"CELLWRIGHT_HOME": str(self.home), "NO_COLOR": "1"}

    def cellwright(self, *words: str, code: int = 0, typed: str | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [CELLWRIGHT, *words],
            env=self.environment,
            cwd=self.project,
            input=typed or "",
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def json(self, *words: str) -> Any:
        return json.loads(self.cellwright(*words, "--json").stdout)

    def looks(self, *words: str, code: int = 0) -> Said:
        """A command that needs no daemon, without paying for a new interpreter."""
        return run_here(self.home, *words, code=code)

    def looks_json(self, *words: str) -> Any:
        return json.loads(self.looks(*words, "--json").stdout)


@pytest.fixture
def person(tmp_path: Path) -> Generator[Person]:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir(mode=0o700)
    project.mkdir()
    with ProviderServer.running() as provider:
        (home / "models.toml").write_text(CONFIGURATION.format(chat=provider.base_url("openai-chat")))
        somebody = Person(home=home, project=project, provider=provider)
        try:
            yield somebody
        finally:
            somebody.cellwright("serve", "stop", "--json")
            if (pid := running_pid(home)) is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_goal_from_stdin_becomes_a_proven_notebook_that_can_be_undone_and_redone(person: Person) -> None:
    person.provider.script(*SUM)
    done = person.cellwright("run", *MODEL, "--json", typed=WORDS)
    *events, delivery = map(json.loads, done.stdout.splitlines())
    assert (delivery["kind"], delivery["status"], delivery["why"]) == ("delivery", "done", "")
    assert delivery["answer"] == "The numbers sum to 6."
    notebook = person.project / "sum-the-numbers.py"
    assert delivery["notebook"] == str(notebook)
    assert "total = 1 + 2 + 3" in notebook.read_text()
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))

    [listed] = person.looks_json("runs", "list")["runs"]
    assert (listed["run"], listed["status"], listed["goal"]) == (delivery["run"], "done", WORDS)
    assert "The numbers sum to 6." in person.looks("runs", "show", "last").stdout
    changes = person.looks_json("runs", "undo", "last", "--list")["changes"]
    assert changes[0]["cells"] == ["added total"]
    assert "removed total" in person.looks("runs", "undo", "last").stdout
    assert "total = 1 + 2 + 3" not in notebook.read_text()
    assert "undone already" in person.looks("runs", "undo", "last").stderr
    assert "added total" in person.cellwright("runs", "redo", "last").stdout
    assert "total = 1 + 2 + 3" in notebook.read_text()
    assert "There is nothing to redo" in person.looks("runs", "redo", "last").stderr
    over = person.looks("runs", "cancel", "last", code=2)
    assert "is done already" in over.stderr


@pytest.mark.slow
def test_a_question_that_nobody_can_be_asked_leaves_the_run_waiting_in_the_daemon(person: Person) -> None:
    asks = CallTool("ask_person", {"question": "With or without the zero?", "options": ["with", "without"]})
    person.provider.script(SUM[0], asks, *SUM[1:])
    waiting = person.cellwright("run", WORDS, *MODEL, code=4)
    assert waiting.stdout == ""
    assert "With or without the zero?" in waiting.stderr
    [question] = person.looks_json("runs", "show", "last")["questions"]
    assert question["answer_with"] in waiting.stderr
    person.looks("inbox", "answer", question["id"], "without")
    watched = person.cellwright("runs", "watch", "last")
    assert watched.stdout.startswith("The numbers sum to 6.")
    assert "✓ Do sum: done" in watched.stderr


@pytest.mark.slow
def test_a_run_at_work_in_the_daemon_is_undone_and_redone_with_its_variables(person: Person) -> None:
    asks = CallTool("ask_person", {"question": "With or without the zero?", "options": ["with", "without"]})
    listed, more = apply(create("items = [1]", "items_cell")), apply(create("items.append(2)", "more"))
    looks = CallTool("look", {"variables": ["items"]})
    person.provider.script(SUM[0], listed, more, asks, looks, *SUM[1:])
    person.cellwright("run", WORDS, *MODEL, code=4)
    notebook = person.project / "sum-the-numbers.py"
    undone = person.looks_json("runs", "undo", "last", "--step", "2")
    assert (undone["turns"], undone["cells"], undone["by"]) == ([2], ["removed more"], "checkpoint")
    assert "items.append(2)" not in notebook.read_text()
    redone = person.looks_json("runs", "redo", "last")
    assert (redone["cells"], redone["by"]) == (["added more"], "checkpoint")
    assert "items.append(2)" in notebook.read_text()
    again = person.looks("runs", "redo", "last")
    assert "There is nothing to redo" in again.stderr
    assert "hint:" in again.stderr
    person.looks("runs", "undo", "last", "--step", "2")
    notebook.write_text(notebook.read_text().replace("items = [1]", "items = [7]"))
    refused = person.looks("runs", "redo", "last", code=3)
    assert "Somebody changed the notebook since the undo" in refused.stderr
    assert "items = [7]" in notebook.read_text()
    notebook.write_text(notebook.read_text().replace("items = [7]", "items = [1]"))
    person.looks("runs", "redo", "last")
    [question] = person.looks_json("runs", "show", "last")["questions"]
    person.looks("inbox", "answer", question["id"], "without")
    person.cellwright("runs", "watch", "last")
    asked = "\n".join(str(request.body["messages"]) for request in person.provider.requests)
    assert "I took back the last undo; this is in the notebook again: added more" in asked


@pytest.mark.slow
def test_a_run_at_work_is_taken_back_to_before_one_of_its_cells(person: Person) -> None:
    asks = CallTool("ask_person", {"question": "With or without the zero?", "options": ["with", "without"]})
    listed, more = apply(create("items = [1]", "items_cell")), apply(create("items.append(2)", "more"))
    shown = apply(create("shown = f'items are {items}'\nshown", "shown"))
    person.provider.script(SUM[0], listed, more, asks, shown, *SUM[1:])
    person.cellwright("run", WORDS, *MODEL, code=4)
    unknown = person.looks("runs", "undo", "last", "--before", "nothing", code=3)
    assert "No state before the cell 'nothing' is kept" in unknown.stderr
    gone = person.looks_json("runs", "undo", "last", "--before", "more")
    assert (gone["cells"], gone["by"]) == ([], "checkpoint")
    [question] = person.looks_json("runs", "show", "last")["questions"]
    person.looks("inbox", "answer", question["id"], "without")
    person.cellwright("runs", "watch", "last")
    asked = "\n".join(str(request.body["messages"]) for request in person.provider.requests)
    assert "I took the notebook back to right before the cell 'more' ran" in asked
    assert "items are [1]" in asked
    assert "items are [1, 2]" not in asked
    over = person.looks("runs", "undo", "last", "--before", "more", code=3)
    assert "The run is not at work" in over.stderr


@pytest.mark.slow
def test_a_run_at_a_terminal_asks_there_and_ctrl_c_twice_stops_it(person: Person) -> None:
    asks = CallTool("ask_person", {"question": "With or without the zero?", "options": ["with", "without"]})
    person.provider.script(SUM[0], asks, asks, *SUM[1:])
    with on_terminal(
        [CELLWRIGHT, "run", WORDS, *MODEL], environment=person.environment, folder=person.project
    ) as terminal:
        terminal.wait_for("● sum")
        terminal.wait_for("With or without the zero?")
        terminal.wait_for("Your answer:")
        terminal.type("1\n")
        terminal.wait_for("Your answer:")
        terminal.interrupt()
        terminal.wait_for("Enter goes on, Ctrl-C again stops the run.")
        terminal.interrupt()
        terminal.wait_for("Stopping")
        assert terminal.end() == 130
    assert person.looks_json("runs", "list")["runs"][0]["status"] == "stopped"
    resumed = person.cellwright("runs", "resume", "last", "--json")
    assert json.loads(resumed.stdout)["resumed"]
    assert "With or without the zero?" in person.cellwright("runs", "watch", "last", code=4).stderr


@pytest.mark.slow
def test_a_run_goes_on_without_anybody_waiting_for_it(person: Person) -> None:
    person.provider.script(*SUM)
    started = person.json("run", WORDS, *MODEL, "--detach", "--notebook", "mine.py")
    assert started["notebook"] == str(person.project / "mine.py")
    assert person.cellwright("runs", "watch", started["run"]).stdout.startswith("The numbers sum to 6.")
    person.provider.script(finish("Still 6."))
    again = person.json("runs", "retry", started["run"], "sum")
    assert (again["continues"], again["task"]) == (started["run"], "sum")
    assert again["run"] != started["run"]


@pytest.mark.slow
def test_without_a_daemon_a_run_works_here_rests_with_its_question_and_goes_on_when_watched(person: Person) -> None:
    # Where its socket would be is something else: it cannot start.
    (person.home / "daemon.sock").mkdir()
    refused = person.cellwright("run", WORDS, "--detach", code=1)
    assert "Leave --detach out" in refused.stderr
    asks = CallTool("ask_person", {"question": "With or without the zero?", "options": ["with", "without"]})
    person.provider.script(SUM[0], asks, *SUM[1:])
    waiting = person.cellwright("run", WORDS, *MODEL, code=4)
    assert "The daemon could not be started" in waiting.stderr
    assert "There is no daemon: the run goes on at the next" in waiting.stderr
    [question] = person.looks_json("runs", "show", "last")["questions"]
    person.looks("inbox", "answer", question["id"], "with")
    assert person.cellwright("runs", "watch", "last").stdout.startswith("The numbers sum to 6.")
