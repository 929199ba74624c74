"""The loop with scripted models over the real wire: from an assignment to a report, whatever the model does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import anyio
import pytest
from dirty_equals import IsInt, IsStr
from inline_snapshot import snapshot

from cellwright.agents.steering import say, stop
from cellwright.errors import UserError
from cellwright.journal.log import EventLog
from cellwright.testing import CallTool, CallTools, Fault, Say
from cellwright.tools.tool import Tool, tool
from tests.agents.driver import ADA, DONE, SECRET, a_role, an_assignment, finish, open_driver
from tests.models.testbed import ModelTestbed


def counting() -> tuple[list[str], list[Tool]]:
    """Tools that write down what was done."""
    done: list[str] = []

    @tool()
    async def read(name: str) -> str:
        """Read something."""
        done.append(f"read {name}")
        return f"{name} is 7"

    @tool(changes=True)
    async def write(name: str, value: int) -> str:
        """Change something."""
        done.append(f"write {name} {value}")
        return "written"

    return done, [read, write, finish]


@pytest.mark.slow
async def test_a_goal_of_several_steps_is_worked_on_until_it_is_finished(testbed: ModelTestbed, where: Path) -> None:
    done, tools = counting()
    testbed.provider.script(
        CallTool("read", {"name": "x"}, text="First I look."),
        CallTool("write", {"name": "y", "value": 14}),
        DONE,
    )
    async with open_driver(testbed, where, tools=tools) as driver:
        report = await driver.work()
        assert asdict(report) == snapshot(
            {
                "outcome": "finished",
                "summary": "It is done.",
                "answer": "42",
                "template": "",
                "plan": None,
                "review": None,
                "tests": None,
                "why": "",
                "turns": 3,
                "artifacts": (),
                "readings": (),
                "cards": (),
                "handed": None,
                "tokens": IsInt(gt=0),
                "microdollars": IsInt(gt=0),
                "failed_turns": 0,
                "limits": (),
            }
        )
        assert done == ["read x", "write y 14"]
        assert "x is 7" in driver.sent_text(2)
        assert "First I look." in driver.sent_text(2)
        assert [name for name in await driver.step_names() if name.startswith("think")] == [
            "think 1",
            "think 2",
            "think 3",
        ]


@pytest.mark.slow
async def test_a_malformed_call_comes_back_in_one_line_and_counts_as_a_turn(testbed: ModelTestbed, where: Path) -> None:
    done, tools = counting()
    testbed.provider.script(
        CallTool("write", '{"name": "y", "value": '),
        CallTool("write", {"name": "y", "value": "many"}),
        CallTool("wriet", {"name": "y"}),
        DONE,
    )
    async with open_driver(testbed, where, tools=tools) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns, report.failed_turns) == ("finished", 4, 3)
        assert done == []
        told = [message["content"] for message in driver.sent(4) if message["role"] == "tool"]
        bad = "Error (bad-arguments): write:"
        takes = "It takes (name: str, value: int)."
        assert told == [
            f"{bad} the arguments are no JSON (Expecting value: line 1 column 24 (char 23)). {takes}",
            f"{bad} value: Input should be a valid integer, unable to parse string as an integer. {takes}",
            "Error (unknown-tool): There is no tool 'wriet'. There is: write.",
        ]
        assert not any("\n" in line for line in told)


@pytest.mark.slow
async def test_an_empty_answer_and_one_cut_off_are_told_back(testbed: ModelTestbed, where: Path) -> None:
    testbed.provider.script(Say("so I will", stop="length"), Say("…"), DONE)
    async with open_driver(testbed, where) as driver:
        assert (await driver.work()).turns == 3
        assert "cut off" in driver.sent_text(2)
        assert "Call a tool, or finish" in driver.sent_text(3)


@pytest.mark.slow
async def test_words_alone_are_asked_about_once_and_then_are_the_answer(testbed: ModelTestbed, where: Path) -> None:
    testbed.provider.script(Say("It is 42."), Say("As I said: 42."))
    async with open_driver(testbed, where) as driver:
        report = await driver.work()
        assert (report.outcome, report.answer, report.turns) == ("finished", "As I said: 42.", 2)


@pytest.mark.slow
async def test_a_role_without_tools_answers_in_words(testbed: ModelTestbed, where: Path) -> None:
    testbed.provider.script(Say("A plan."))
    async with open_driver(testbed, where, roles=[a_role(tools=())]) as driver:
        report = await driver.work()
        assert (report.outcome, report.answer, report.turns) == ("finished", "A plan.", 1)
        assert driver.requests()[0].tools == ()


@pytest.mark.slow
async def test_a_role_has_the_tools_it_names_and_no_others(testbed: ModelTestbed, where: Path) -> None:
    done, tools = counting()
    testbed.provider.script(CallTool("write", {"name": "y", "value": 1}), DONE)
    async with open_driver(testbed, where, tools=tools, roles=[a_role(tools=("read", "finish", "not-here"))]) as driver:
        assert (await driver.work()).failed_turns == 1
        assert driver.requests()[0].tools == ("read", "finish")
        assert done == []
        assert "There is no tool 'write'" in driver.sent_text(2)


@pytest.mark.slow
async def test_a_model_that_never_finishes_is_stopped_at_its_steps_with_what_it_has(
    testbed: ModelTestbed, where: Path
) -> None:
    _, tools = counting()
    testbed.provider.script(*(CallTool("read", {"name": f"x{n}"}, text=f"Now number {n}.") for n in range(9)))
    async with open_driver(testbed, where, tools=tools, roles=[a_role(steps=4)]) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns, report.summary) == ("out-of-budget", 4, "Now number 3.")
        assert report.why == "All 4 steps of a helper are used."
        assert len(driver.requests()) == 4
        assert "Step 4 of 4. This is the last one: call finish" in driver.sent_text(4)


@pytest.mark.slow
async def test_a_model_is_stopped_when_its_tokens_are_used(testbed: ModelTestbed, where: Path) -> None:
    _, tools = counting()
    testbed.provider.script(*(CallTool("read", {"name": f"x{n}"}) for n in range(9)))
    async with open_driver(testbed, where, tools=tools, roles=[a_role(tokens=20)]) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns) == ("out-of-budget", 2)


@pytest.mark.slow
async def test_doing_the_same_again_is_said_and_ends_the_work_in_the_end(testbed: ModelTestbed, where: Path) -> None:
    _, tools = counting()
    testbed.provider.script(*(CallTool("read", {"name": "x"}) for _ in range(9)))
    async with open_driver(testbed, where, tools=tools) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns) == ("gave-up", 5)
        assert "You did exactly this before" not in driver.sent_text(2)
        assert "You did exactly this before" in driver.sent_text(3)


@pytest.mark.slow
async def test_reads_of_one_answer_run_at_once_and_changes_in_their_order(testbed: ModelTestbed, where: Path) -> None:
    done: list[str] = []
    together = anyio.Event()

    @tool()
    async def read(name: str) -> str:
        """Read something, which takes until the other is read, too."""
        done.append(f"read {name}")
        if len(done) == 2:
            together.set()
        with anyio.fail_after(120):
            await together.wait()
        return name

    @tool(changes=True)
    async def write(name: str) -> str:
        """Change something."""
        done.append(f"write {name}")
        await anyio.sleep(0.01 if name == "a" else 0)
        done.append(f"wrote {name}")
        return name

    reads = (CallTool("read", {"name": "x"}), CallTool("read", {"name": "y"}))
    testbed.provider.script(
        CallTools((*reads, CallTool("write", {"name": "a"}), CallTool("write", {"name": "b"}))), DONE
    )
    async with open_driver(testbed, where, tools=[read, write, finish]) as driver:
        assert (await driver.work()).outcome == "finished"
        assert sorted(done[:2]) == ["read x", "read y"]
        assert done[2:] == ["write a", "wrote a", "write b", "wrote b"]


@pytest.mark.slow
async def test_finishing_does_not_count_when_a_call_of_the_same_answer_failed(
    testbed: ModelTestbed, where: Path
) -> None:
    _, tools = counting()
    testbed.provider.script(CallTools((CallTool("write", {"name": "y"}), DONE)), DONE)
    async with open_driver(testbed, where, tools=tools) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns) == ("finished", 2)
        assert "Not finished: a call before it" in driver.sent_text(2)


@pytest.mark.slow
async def test_calls_after_finish_are_not_made(testbed: ModelTestbed, where: Path) -> None:
    done, tools = counting()
    testbed.provider.script(CallTools((DONE, CallTool("write", {"name": "y", "value": 1}))))
    async with open_driver(testbed, where, tools=tools) as driver:
        assert (await driver.work()).outcome == "finished"
        assert done == []


@pytest.mark.slow
async def test_one_call_at_a_time_is_what_weak_models_get(testbed: ModelTestbed, where: Path) -> None:
    done, tools = counting()
    reads = (CallTool("read", {"name": "x"}), CallTool("read", {"name": "y"}))
    testbed.provider.script(CallTools(reads), DONE)
    async with open_driver(testbed, where, tools=tools, roles=[a_role(style="one-call")]) as driver:
        assert (await driver.work()).turns == 2
        assert done == ["read x"]
        assert "Not done (one call at a time): read." in driver.sent_text(2)


@pytest.mark.slow
async def test_what_a_person_says_between_steps_stands_in_the_next_context_and_stays(
    testbed: ModelTestbed, where: Path
) -> None:
    done: list[str] = []
    logs: list[EventLog] = []

    @tool()
    async def read(name: str) -> str:
        """Read something, during which a person speaks up."""
        if not done:
            await say(logs[0], "r", "Use the figures of 2024.", ADA)
        done.append(name)
        return name

    testbed.provider.script(CallTool("read", {"name": "a"}), CallTool("read", {"name": "b"}), DONE)
    async with open_driver(testbed, where, tools=[read, finish]) as driver:
        logs.append(driver.journal.log)
        await driver.work()
        said = "ada says while you work: Use the figures of 2024."
        assert [said in driver.sent_text(number) for number in (1, 2, 3)] == [False, True, True]
        assert [driver.sent_text(number).count(said) for number in (2, 3)] == [1, 1]


async def test_an_empty_message_is_refused(testbed: ModelTestbed, where: Path) -> None:
    async with open_driver(testbed, where) as driver:
        try:
            await say(driver.journal.log, "r", " ", ADA)
        except UserError as problem:
            assert "1 to 8,000" in problem.message
        else:
            raise AssertionError("it was taken")


@pytest.mark.slow
async def test_a_person_can_stop_an_agent_before_its_next_step(testbed: ModelTestbed, where: Path) -> None:
    logs: list[EventLog] = []

    @tool()
    async def read(name: str) -> str:
        """Read something, after which a person has had enough."""
        await stop(logs[0], "r", ADA, "Enough.")
        return name

    testbed.provider.script(CallTool("read", {"name": "a"}, text="I read."), DONE)
    async with open_driver(testbed, where, tools=[read, finish]) as driver:
        logs.append(driver.journal.log)
        report = await driver.work()
        assert (report.outcome, report.why, report.summary) == ("stopped", "ada stopped it: Enough.", "I read.")
        assert len(driver.requests()) == 1


async def test_when_no_model_answers_the_report_says_so(testbed: ModelTestbed, where: Path) -> None:
    testbed.provider.script(*(Fault("unauthorised") for _ in range(4)))
    async with open_driver(testbed, where) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns) == ("gave-up", 0)
        assert report.why == IsStr(regex="(?s).*near:one.*")


async def test_a_role_or_model_that_is_not_there_is_the_persons_to_correct(testbed: ModelTestbed, where: Path) -> None:
    async with open_driver(testbed, where) as driver:
        try:
            await driver.work(an_assignment(role="wizard"))
        except UserError as problem:
            assert "No role 'wizard'" in problem.message
        else:
            raise AssertionError("it worked")
        report = await driver.report(await driver.start(an_assignment(models=("far:away",)), run="other"))
        assert report.outcome == "gave-up"


async def test_no_secret_of_goal_or_notes_reaches_the_model(testbed: ModelTestbed, where: Path) -> None:
    testbed.provider.script(DONE)
    async with open_driver(testbed, where) as driver:
        await driver.work(an_assignment(f"Log in with {SECRET}."))
        assert SECRET not in driver.sent_text(1)
        assert "[masked PASSWORD]" in driver.sent_text(1)


@pytest.mark.slow
async def test_documents_written_by_an_agent_are_kept_by_name_and_read_by_the_next(
    testbed: ModelTestbed, where: Path
) -> None:
    testbed.provider.script(
        CallTool("write_artifact", {"name": "plan.md", "text": "1. look"}),
        CallTool("write_artifact", {"name": "plan.md", "text": "1. look\n2. count"}),
        CallTool("read_artifact", {"name": "plan.md"}),
        CallTool("read_artifact", {"name": "plan.txt"}),
        CallTool("write_artifact", {"name": "../plan", "text": "x"}),
        DONE,
    )
    async with open_driver(testbed, where) as driver:
        report = await driver.work()
        assert report.artifacts == ("plan.md",)
        assert "1. look\\n2. count" in driver.sent_text(4)
        assert "There is: plan.md." in driver.sent_text(5)
        assert "is no name" in driver.sent_text(6)


@pytest.mark.slow
async def test_the_context_of_every_step_is_kept_and_is_what_was_sent(testbed: ModelTestbed, where: Path) -> None:
    _, tools = counting()
    testbed.provider.script(CallTool("read", {"name": "x" * 200}), CallTool("read", {"name": "y" * 200}), DONE)
    async with open_driver(testbed, where, tools=tools) as driver:
        await driver.work()
        for step in (1, 2, 3):
            prompt = await driver.context(step)
            told = "".join(prompt.text_of(span) for span in prompt.spans if span.place in ("system", "user", "result"))
            sent = [part for message in driver.sent(step) for part in _texts(message)]
            assert told == "".join(sent)
            assert [span.start for span in prompt.spans[1:]] == [span.end for span in prompt.spans[:-1]]
            assert prompt.spans[-1].end == len(prompt.text)


def _texts(message: dict[str, object]) -> list[str]:
    content = message.get("content")
    if message["role"] == "assistant" or content is None:
        return []
    if isinstance(content, str):
        return [content]
    assert isinstance(content, list)
    return [str(part["text"]) for part in content]
