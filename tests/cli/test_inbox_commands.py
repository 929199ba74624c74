"""The inbox, audit and rules through their real door: one process asks, others list, show and answer."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot
from typer.testing import CliRunner

from cellwright.agents.steering import pause_question
from cellwright.cli.main import app, exit_code
from cellwright.cli.terminal_input import person_here
from cellwright.errors import UserError
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import Question
from cellwright.policy.budgets import BudgetLedger, Limit, Unpriced, Use, UseId, reserve
from cellwright.policy.money import UnknownPrice
from cellwright.runs.events import EVENT_TYPES
from cellwright.tools.approval.guard import Guard
from tests.cli.in_process import Said, run_here
from tests.sampling import some
from tests.tools.guard_driver import RATES, WHO, open_guard_driver

ROOT = Path(__file__).parents[2]
CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 240
ME = person_here().name


class Home:
    """A state directory and the commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"CELLWRIGHT_HOME": str(folder), "NO_COLOR": "1"}

    def run(self, *words: str | Path, code: int = 0) -> Said:
        environment = {name: value for name, value in self.environment.items() if os.environ.get(name) != value}
        return run_here(self.folder, *map(str, words), code=code, folder=self.folder, environment=environment)

    def json(self, *words: str | Path, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code).stdout)

    def mistake(self, *words: str) -> UserError:
        """What a command in this process says that cannot be understood, with a hint and exit 2."""
        result = CliRunner(env=self.environment).invoke(app, [*words, "--json"])
        problem = result.exception
        assert isinstance(problem, UserError), result.output
        assert (result.stdout, exit_code(problem), bool(problem.hint)) == ("", 2, True)
        return problem

    @contextmanager
    def worker(self, crash: str = "-") -> Generator[subprocess.Popen[bytes]]:
        """The process that runs the workflows."""
        command = [sys.executable, "-W", "error", "-m", "tests.tools.worker", self.folder / "journal.db", self.folder]
        process = subprocess.Popen([*command, crash], cwd=ROOT, env=self.environment)
        try:
            yield process
        finally:
            process.kill()
            process.wait(SECONDS)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture(scope="module")
def waiting_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("waiting")

    async def ask() -> None:
        async with open_guard_driver(folder / "journal.db", chain_key=None) as driver:
            await driver.act("rates", RATES)
            await driver.asked()

    anyio.run(ask)
    return folder


@pytest.fixture
def waiting(home: Home, waiting_once: Path) -> Home:
    """A journal in which a run waits for an answer, and nobody works."""
    shutil.copytree(waiting_once, home.folder, dirs_exist_ok=True)
    return home


@pytest.mark.slow
def test_a_question_outlives_its_process_and_is_answered_once_from_another(home: Home) -> None:
    with home.worker(crash="question-opened") as worker:
        assert worker.wait(SECONDS) == -9
    [listed] = home.json("inbox")["questions"]
    assert listed == snapshot(
        {
            "id": "rates#5",
            "run": "rates",
            "asked_at": IsStr(),
            "state": "open",
            "what": """\
Connect to api.example.com port 443 for exchange rates
Asked because: No rule of yours speaks of it; the default for use-network is ask.
A yes for this run or always would cover: connect to api.example.com port 443\
""",
            "fingerprint": IsStr(regex="[0-9a-f]{64}"),
            "offers": ["once", "run", "always", "no"],
            "topic": "approval",
            "answer_with": IsStr(regex="cellwright inbox answer rates#5 once --fingerprint [0-9a-f]{64}"),
            "answer": None,
        }
    )
    number, fingerprint = listed["id"], listed["fingerprint"]
    with home.worker(crash="question-closed") as worker:
        stale = home.json("inbox", "answer", number, "once", "--fingerprint", "0" * 64, code=3)
        assert stale["refused"] == "not-what-was-shown"
        said = home.json("inbox", "answer", number, "always", "--for", "30d", "--fingerprint", fingerprint)
        assert (said["says"], said["reach"], said["by"], said["door"]) == ("yes", "always", ME, "cli")
        assert worker.wait(SECONDS) == -9
    with home.worker() as worker:
        assert worker.wait(SECONDS) == 0
    assert json.loads((home.folder / "result.json").read_text()) == ["done"]
    assert (home.folder / "world.txt").read_text() == "use-network\n"

    [entry] = home.json("audit", "--run", "rates", "--since", "1h", "--person", "ada", "--kind", "use-network")[
        "entries"
    ]
    assert (entry["verdict"], entry["basis"], entry["result"]) == ("allow", f"answer to question {number}", "done")
    told = [line["event"] for line in home.json("journal", "export", "rates") if line["kind"] == "audit-recorded"]
    assert [event["result"] for event in told] == ["waiting", "unknown", "done"]
    [grant] = home.json("inbox", "grants")["grants"]
    assert (grant["id"], grant["covers"]) == (number, "connect to api.example.com port 443")
    assert home.json("inbox", "revoke", number)["revoked_at"]


def test_people_see_what_will_happen_and_scripts_must_say_what_they_were_shown(waiting: Home) -> None:
    assert waiting.run("inbox").stdout == ("rates#5  Connect to api.example.com port 443 for exchange rates\n")
    shown = waiting.run("inbox", "show", "rates#5").stdout
    assert shown.splitlines()[:2] == [
        "Question rates#5 of run rates, open",
        "Connect to api.example.com port 443 for exchange rates",
    ]
    blind = waiting.run("inbox", "answer", "rates#5", "once", code=2)
    assert "hint: Look with `cellwright inbox show rates#5`" in " ".join(blind.stderr.split())
    unknown = waiting.run("inbox", "show", "rates#6", code=2)
    assert "No question 'rates#6'" in unknown.stderr


@pytest.mark.slow
def test_at_a_terminal_a_person_confirms_what_they_see(waiting: Home) -> None:
    said = at_terminal(waiting, "n\n", "inbox", "answer", "rates#5", "once", code=1)
    assert "Connect to api.example.com port 443" in said
    assert "Your answer: yes, once" in said
    said = at_terminal(waiting, "y\n", "inbox", "answer", "rates#5", "no", "--feedback", "Not today.", code=0)
    assert "Your answer: no. Not today." in said
    assert waiting.json("inbox", "show", "rates#5")["answer"] == {
        "id": "rates#5",
        "by": ME,
        "door": "cli",
        "at": IsStr(),
        "says": "no",
        "feedback": "Not today.",
    }


def at_terminal(home: Home, typed: str, *words: str, code: int) -> str:
    """What a person sees who types this."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [CELLWRIGHT, *words], env=home.environment, cwd=home.folder, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        while b"[y/N]" not in seen:
            assert select.select([ours], [], [], SECONDS)[0], seen
            seen += os.read(ours, 4_096)
        os.write(ours, typed.encode())
        assert process.wait(SECONDS) == code
    finally:
        process.kill()
        process.wait(SECONDS)
        os.close(ours)
    return seen.decode()


@pytest.mark.parametrize(
    "words",
    [
        ["inbox"],
        ["inbox", "--run", "rates"],
        ["inbox", "show", "rates#5"],
        ["inbox", "answer", "rates#5", "no"],
        ["inbox", "grants"],
        ["inbox", "revoke", "rates#5"],
        ["audit"],
    ],
    ids=" ".join,
)
def test_without_a_journal_every_interface_says_so(home: Home, words: list[str]) -> None:
    problem = home.mistake(*words)
    assert "No journal at" in problem.message
    assert list(home.folder.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["inbox", "show", "rates#6"],
        ["inbox", "answer", "rates#5"],
        ["inbox", "answer", "rates#5", "raise", "much"],
        ["inbox", "answer", "rates#5", "price", "cheap"],
        ["inbox", "answer", "rates#5", "always", "--for", "ever"],
        ["inbox", "answer", "rates#5", "once", "--for", "3d"],
        ["inbox", "answer", "rates#5", "run", "--feedback", "because"],
        ["inbox", "answer", "rates#5", "perhaps"],
        ["inbox", "answer", "rates#6", "no"],
        ["inbox", "--run", "other"],
        ["inbox", "--json", "answer", "rates#5", "no"],
        ["inbox", "revoke", "rates#6"],
        ["audit", "--since", "whenever"],
        ["audit", "--kind", "flying"],
        ["inbox", "--database", "mysql://host/x"],
        ["inbox", "--key", "no-such.key"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_an_error_with_a_hint(waiting: Home, words: list[str]) -> None:
    assert waiting.mistake(*words).message


@pytest.fixture(scope="module")
def unpriced_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpriced")
    limit = Limit(measure="money", per="run", at_most=Decimal(5), currency="USD", where="mine.toml:1")
    use = Use(id=UseId("call-1"), run="b", person="ada", price=UnknownPrice(why="a local model"))
    budget = reserve(BudgetLedger(limits=(limit,)), use, datetime(2026, 1, 1, tzinfo=UTC))
    assert isinstance(budget, Unpriced)
    guards: list[Guard] = []

    async def spend(flow: Flow, _: Any) -> None:
        await guards[0].ask_for_more(flow, budget, WHO)

    async def ask() -> None:
        async with open_guard_driver(
            folder / "journal.db", chain_key=None, workflows=[Workflow(name="spend", body=spend)]
        ) as driver:
            guards.append(driver.guard)
            await driver.journal.run("spend", run="b")
            await driver.asked()

    anyio.run(ask)
    return folder


@pytest.fixture
def unpriced(home: Home, unpriced_once: Path) -> Home:
    """A journal in which a run waits for a price."""
    shutil.copytree(unpriced_once, home.folder, dirs_exist_ok=True)
    return home


@pytest.mark.parametrize(
    ("words", "said"),
    some(
        [
            (["price", "0.25"], {"says": "price", "amount": "0.25"}),
            (["uncounted"], {"says": "uncounted"}),
            (["no", "--feedback", "Too dear."], {"says": "no", "feedback": "Too dear."}),
        ],
        1,
    ),
    ids=["price", "uncounted", "no"],
)
def test_an_unknown_price_is_listed_shown_and_answered(unpriced: Home, words: list[str], said: dict[str, str]) -> None:
    [listed] = unpriced.json("inbox")["questions"]
    number, fingerprint = listed["id"], listed["fingerprint"]
    assert listed["offers"] == ["price", "uncounted", "no"]
    shown = unpriced.run("inbox", "show", number).stdout
    assert "although use call-1 has an unknown price (a local model)" in shown
    assert f"cellwright inbox answer {number} price AMOUNT --fingerprint {fingerprint}" == listed["answer_with"]
    wrong = unpriced.json("inbox", "answer", number, "raise", "1", "--fingerprint", fingerprint, code=3)
    assert wrong["refused"] == "not-offered"
    answered = unpriced.json("inbox", "answer", number, *words, "--fingerprint", fingerprint)
    assert answered == {"id": number, "by": ME, "door": "cli", "at": IsStr(), **said}
    assert unpriced.json("inbox", "show", number)["answer"] == answered


def test_rule_files_are_checked_with_line_and_column(home: Home) -> None:
    good, bad = home.folder / "good.toml", home.folder / "bad.toml"
    good.write_text('[[rule]]\naction = "run-shell"\nthen = "deny"\n')
    bad.write_text('[[rule]]\naction = "run-shell"\nthen = "dney"\n')
    assert home.json("rules", "check", good) == {
        "files": [{"file": str(good), "ok": True, "rules": 1, "limits": 0}],
    }
    told = home.run("rules", "check", good, bad, home.folder / "none.toml", code=2)
    assert f"✓ {good}: 1 rules, 0 limits" in told.stdout
    assert f"✗ {bad}, line 3, column 8: unknown then 'dney'." in told.stderr
    assert "Cannot read the rules" in told.stderr


def test_the_rules_of_all_layers_are_shown(home: Home) -> None:
    (home.folder / "rules.toml").write_text('[[rule]]\naction = "run-shell"\nthen = "deny"\nreason = "No shell."\n')
    (home.folder / "team.toml").write_text('[[limit]]\nof = "steps"\nper = "run"\nat_most = 9\n')
    shown = home.json("rules", "show", "--project", home.folder, "--team", home.folder / "team.toml")
    assert [(layer["layer"], layer["is_there"]) for layer in shown["layers"]] == [
        ("user", True),
        ("team", True),
        ("project", False),
    ]
    assert shown["rules"][0] == {
        "layer": "user",
        "says": "deny",
        "actions": ["run-shell"],
        "where": f"{home.folder / 'rules.toml'}:1",
        "reason": "No shell.",
    }
    assert shown["limits"] == [{"limit": "9 steps per run", "where": f"{home.folder / 'team.toml'}:1"}]
    told = home.run("rules", "show").stdout
    assert f"deny  run-shell  {home.folder / 'rules.toml'}:1: No shell." in told


def test_a_team_file_is_taken_from_the_settings_and_must_be_readable(home: Home) -> None:
    team = home.folder / "team.toml"
    home.environment["CELLWRIGHT_TEAM_RULES"] = str(team)
    lost = home.run("rules", "show", "--json", code=2)
    assert lost.stdout == ""
    assert "Cannot read the rules" in lost.stderr
    assert "hint:" in lost.stderr
    team.write_text('[[limit]]\nof = "steps"\nper = "run"\nat_most = 9\n')
    assert home.json("rules", "show")["limits"] == [{"limit": "9 steps per run", "where": f"{team}:1"}]
    other = home.folder / "other.toml"
    other.write_text("")
    assert home.json("rules", "show", "--team", other)["limits"] == []


async def body(flow: Flow, _argument: Any) -> str:
    return f"took the {await flow.ask(Question(text='Which road?', choices=('left', 'right')))} one"


@asynccontextmanager
async def walking(home: Home, run: str = "walk") -> AsyncGenerator[tuple[Journal, str]]:
    """A run at work that asks which road to take, and the question's name."""
    workflows = [Workflow(name="walk", body=body)]
    async with Journal.open(home.folder / "journal.db", version="1", workflows=workflows, types=EVENT_TYPES) as journal:
        await journal.run("walk", run=run)
        with anyio.fail_after(120):
            news = journal.log.growth.next()
            while not (pending := await journal.records.questions.pending(run)):
                await news.wait()
                news = journal.log.growth.next()
        yield journal, pending[0].id


@pytest.mark.slow
async def test_a_plain_question_is_listed_shown_answered_and_the_run_goes_on(home: Home) -> None:
    async with walking(home) as (journal, number):
        [listed] = (await anyio.to_thread.run_sync(home.json, "inbox", "--run", "walk"))["questions"]
        assert listed == {
            "id": number,
            "run": "walk",
            "topic": "question",
            "what": "Which road?",
            "offers": ["left", "right"],
            "fingerprint": "",
            "answer_with": f"cellwright inbox answer {number} ANSWER",
            "asked_at": IsStr(),
            "state": "open",
            "answer": None,
        }
        shown = await anyio.to_thread.run_sync(home.run, "inbox")
        assert shown.stdout == f"{number}  Which road? (left / right)\n"
        wrong = await anyio.to_thread.run_sync(lambda: home.run("inbox", "answer", number, "straight", "on", code=2))
        assert "'straight on' is no answer here." in wrong.stderr
        assert "One of: left, right." in wrong.stderr
        nothing = await anyio.to_thread.run_sync(lambda: home.run("inbox", "answer", number, code=2))
        assert "Give an answer." in nothing.stderr
        said = await anyio.to_thread.run_sync(home.json, "inbox", "answer", number, "left")
        assert said == {"id": number, "at": IsStr(), "by": ME, "says": "left"}
        with anyio.fail_after(120):
            assert await journal.result("walk") == "took the left one"
        late = await anyio.to_thread.run_sync(lambda: home.json("inbox", "answer", number, "right", code=3))
        assert late == {"refused": "already-answered", "message": f"{ME} has already answered."}
        shown = await anyio.to_thread.run_sync(home.run, "inbox", "show", number)
        assert f"{ME} answered left at " in shown.stdout
        assert (await anyio.to_thread.run_sync(home.json, "inbox")) == {"questions": []}


async def test_what_an_agent_asks_cannot_steer_the_terminal(home: Home) -> None:
    async def steer(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="\x1b[2J\x1b]0;owned\x07Go on?", choices=("yes\x1b[1m", "no")))

    workflows = [Workflow(name="steer", body=steer)]
    async with Journal.open(home.folder / "journal.db", version="1", workflows=workflows, types=EVENT_TYPES) as journal:
        await journal.run("steer", run="s")
        with anyio.fail_after(120):
            news = journal.log.growth.next()
            while not (pending := await journal.records.questions.pending("s")):
                await news.wait()
                news = journal.log.growth.next()
        for words in (["inbox"], ["inbox", "show", pending[0].id]):
            shown = (await anyio.to_thread.run_sync(home.run, *words)).stdout
            assert "\\u001b[2J" in shown
            assert not {"\x1b", "\x07"} & set(shown)


async def test_a_paused_run_goes_on_when_its_question_is_answered(home: Home) -> None:
    async def pause(flow: Flow, _: Any) -> Any:
        return await flow.ask(pause_question("ada"))

    workflows = [Workflow(name="pause", body=pause)]
    async with Journal.open(home.folder / "journal.db", version="1", workflows=workflows, types=EVENT_TYPES) as journal:
        await journal.run("pause", run="p")
        with anyio.fail_after(120):
            news = journal.log.growth.next()
            while not (pending := await journal.records.questions.pending("p")):
                await news.wait()
                news = journal.log.growth.next()
        said = await anyio.to_thread.run_sync(home.json, "inbox", "answer", pending[0].id, "resume")
        assert (said["says"], said["by"]) == ("resume", ME)
        with anyio.fail_after(120):
            assert await journal.result("p") == "resume"
