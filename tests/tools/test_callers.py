"""Calls: judged, recorded, timed, masked, bounded; whatever goes wrong comes back as a value."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from cellwright.agents.prompt.prompt_store import JournalTexts
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.journal.crash import CrashPoint
from cellwright.journal.questions import Question
from cellwright.journal.records import Records
from cellwright.policy.actions import ReadFile, RunShell, UseNetwork
from cellwright.policy.approvals import No, Yes
from cellwright.tools.approval.guard import audit_trail
from cellwright.tools.text_store import cut, stored_text_tools
from cellwright.tools.tool import CallContext, Done, Refusal, Tool, ToolError, ToolFailure, tool
from tests.agents.forked import Forker
from tests.sampling import some
from tests.tools.call_driver import open_driver
from tests.tools.guard_driver import ADA, SECRET


@tool()
async def echo(text: str) -> str:
    """Say it again."""
    return text


def failing(error: Exception) -> Tool:
    @tool()
    async def fail() -> str:
        """Fail."""
        raise error

    return fail


async def test_a_malformed_call_is_a_value_and_no_step(where: Path) -> None:
    async with open_driver(where, [echo]) as driver:
        await driver.begin("r", ("echo", {"txt": 1}), ("eco", {}), ("echo", "{"), ("echo", {"text": "hi"}))
        wrong, unknown, broken, right = await driver.results("r")
        assert isinstance(wrong, ToolError)
        assert wrong.kind == "bad-arguments"
        assert isinstance(unknown, ToolError)
        assert unknown.kind == "unknown-tool"
        assert isinstance(broken, ToolError)
        assert right == Done(text="hi", value="hi")
        assert (await driver.told("r")).count("tool echo") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "result"),
    [
        (
            ToolFailure("It flew away.", kind="conflict", hint="Look again."),
            ToolError(kind="conflict", message="It flew away.", hint="Look again."),
        ),
        (
            UserError("No such bird.", hint="Look."),
            ToolError(kind="bad-arguments", message="No such bird.", hint="Look."),
        ),
        (Unavailable("Later."), ToolError(kind="unavailable", message="Later.")),
        (RefusedByPolicy("Never."), Refusal(feedback="Never.")),
        (KeyError("x"), ToolError(kind="failed", message="KeyError: 'x'", is_untrusted=True)),
    ],
)
async def test_what_a_tool_raises_becomes_a_value(where: Path, error: Exception, result: object) -> None:
    async with open_driver(where, [failing(error)]) as driver:
        assert await driver.call("fail") == result


async def test_a_tool_that_takes_too_long_is_stopped(where: Path) -> None:
    stopped: list[bool] = []

    @tool(seconds=0.05)
    async def wait() -> None:
        """Wait."""
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(True)

    async with open_driver(where, [wait]) as driver:
        assert await driver.call("wait") == ToolError(kind="timed-out", message="wait was stopped after 0.05 s.")
    assert stopped == [True]


async def test_secrets_are_taken_out_of_text_value_and_errors(where: Path) -> None:
    @tool()
    async def leak(fail: bool = False) -> Any:
        """Leak."""
        if fail:
            raise UserError(f"Wrong password {SECRET}.")
        return {"password": SECRET}

    async with open_driver(where, [leak]) as driver:
        await driver.begin("r", ("leak", {}), ("leak", {"fail": True}))
        assert SECRET not in repr(await driver.results("r"))
        assert SECRET.encode() not in await anyio.Path(where).read_bytes()


async def test_a_long_answer_keeps_head_and_tail_and_the_whole_can_be_read_on(where: Path, tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(5_000))
    async with (
        Records.open(tmp_path / "texts.db") as records,
        open_driver(
            where, [echo, *stored_text_tools(JournalTexts(records))], tokens=300, kept=JournalTexts(records)
        ) as driver,
    ):
        short = await driver.call("echo", {"text": text})
        assert isinstance(short, Done)
        assert short.text.startswith("line 0\n")
        assert "line 4999" in short.text
        assert "characters left out" in short.text
        assert len(short.text) < 1_200
        name = short.text.split("read_kept('")[1].split("'")[0]
        more = await driver.call("read_kept", {"name": name, "from_line": 2_000, "lines": 2}, run="s")
        assert isinstance(more, Done)
        assert more.text == "Lines 2000-2001 of 5000:\nline 1999\nline 2000"
        nothing = await driver.call("read_kept", {"name": "../../journal"}, run="t")
        assert isinstance(nothing, ToolError)


def test_a_text_within_the_bound_is_not_cut() -> None:
    assert cut("short", 10) is None
    assert cut("ж" * 10_000, 50) is not None


async def test_an_action_is_judged_before_the_tool_runs(where: Path) -> None:
    ran: list[str] = []

    @tool(action=lambda given: RunShell(command=(given.program,), folder="/home/ada/penguins"), changes=True)
    async def start(program: str) -> str:
        """Start a program."""
        ran.append(program)
        return "started"

    rules = '[[rule]]\naction = "run-shell"\nthen = "deny"\nreason = "No shell here."\n'
    async with open_driver(where, [start], rules=rules) as driver:
        refused = await driver.call("start", {"program": "rm"})
        assert isinstance(refused, Refusal)
        assert "No shell here." in refused.feedback
        assert ran == []


async def test_a_person_is_asked_and_the_answer_decides(where: Path) -> None:
    @tool(action=lambda given: UseNetwork(host=given.host, port=443))
    async def visit(host: str) -> str:
        """Visit."""
        return f"been to {host}"

    async with open_driver(where, [visit], rules="") as driver:
        await driver.begin("r", ("visit", {"host": "a.example"}), ("visit", {"host": "b.example"}))
        for reply in (Yes(reach="once"), No(feedback="Not there.")):
            question = (await driver.asked()).question
            await driver.inbox.answer(question.id, reply, ADA, question.fingerprint)
        first, second = await driver.results("r")
        assert first == Done(text="been to a.example", value="been to a.example")
        assert isinstance(second, Refusal)
        assert "Not there." in second.feedback
        trail = audit_trail(await driver.journal.log.audit())
        assert [line.entry.result for line in trail] == ["refused", "done"]


async def test_all_actions_of_a_call_must_be_permitted(where: Path) -> None:
    ran: list[int] = []

    def both(_: Any) -> tuple[ReadFile, RunShell]:
        return ReadFile(path="a.csv"), RunShell(command=("ls",), folder=".")

    @tool(action=both)
    async def read_and_run() -> str:
        """Read and run."""
        ran.append(1)
        return ""

    rules = '[[rule]]\naction = "run-shell"\nthen = "deny"\n'
    async with open_driver(where, [read_and_run], rules=rules) as driver:
        assert isinstance(await driver.call("read_and_run"), Refusal)
        assert ran == []
        trail = audit_trail(await driver.journal.log.audit())
        assert [(line.entry.kind, line.entry.result) for line in trail] == [
            ("run-shell", "refused"),
            ("read-file", "failed"),
        ]


async def test_reads_run_at_the_same_time_and_changes_one_after_the_other(where: Path) -> None:
    inside: list[str] = []
    most = {"look": 0, "change": 0}
    met = anyio.Event()

    async def enter(name: str) -> None:
        inside.append(name)
        most[name] = max(most[name], inside.count(name))
        if inside.count("look") == 3:
            met.set()
        if name == "look":
            with anyio.fail_after(120):
                await met.wait()
        await anyio.lowlevel.checkpoint()
        inside.remove(name)

    @tool()
    async def look(number: int) -> str:
        """Look."""
        await enter("look")
        return f"saw {number}"

    @tool(changes=True)
    async def change(number: int) -> str:
        """Change."""
        assert not inside
        await enter("change")
        return f"changed {number}"

    calls = [("look", {"number": n}) for n in range(3)] + [("change", {"number": n}) for n in range(3)]
    async with open_driver(where, [look, change]) as driver:
        await driver.begin("r", *calls)
        texts = [result.text for result in await driver.results("r") if isinstance(result, Done)]
    assert texts == ["saw 0", "saw 1", "saw 2", "changed 0", "changed 1", "changed 2"]
    assert most == {"look": 3, "change": 1}


async def test_what_the_world_looked_like_when_it_was_judged_is_kept(where: Path) -> None:
    looks: list[int] = []

    async def action(_: Any) -> ReadFile:
        looks.append(1)
        return ReadFile(path=f"file-{len(looks)}.csv")

    @tool(action=action)
    async def peek() -> str:
        """Peek."""
        return "peeked"

    async with open_driver(where, [peek]) as driver:
        await driver.call("peek")
        assert await driver.told("r") == ["prepare peek", "judge read-file", "tool peek"]
    assert len(looks) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", some([CrashPoint.EFFECT_HAPPENED, CrashPoint.EFFECT_INTENDED, CrashPoint.STEP_COMMITTING], 1)
)
async def test_a_killed_call_has_its_effect_once(
    where: Path, tmp_path: Path, forker: Forker, point: CrashPoint
) -> None:
    run = partial(anyio.to_thread.run_sync, forker.of("tests.tools.calling_process").run, str(where), str(tmp_path))
    assert await run(point) == -9
    assert await run("-") == 0
    assert (tmp_path / "world.txt").read_text() == "posted r/c0\n"
    # What was found in the world is masked like what a call answers.
    assert (tmp_path / "result.txt").read_text() == "posted r/c0 with [masked PASSWORD]"


async def test_a_tool_with_steps_of_its_own_may_ask_a_person(where: Path) -> None:
    @tool(own_steps=True)
    async def wait_for_word(calling: CallContext) -> str:
        """Wait."""
        return f"they said {await calling.flow.ask(Question(text='Which?'))}"

    async with open_driver(where, [wait_for_word, echo]) as driver:
        await driver.begin("r", ("echo", {"text": "a"}), ("wait_for_word", {}), ("echo", {"text": "b"}))
        with anyio.fail_after(120):
            news = driver.journal.log.growth.next()
            while not (pending := await driver.journal.records.questions.pending()):
                await news.wait()
                news = driver.journal.log.growth.next()
        await driver.journal.records.questions.answer(pending[0].id, "wrens", by="ada")
        texts = [result.text for result in await driver.results("r") if isinstance(result, Done)]
        assert texts == ["a", "they said wrens", "b"]
