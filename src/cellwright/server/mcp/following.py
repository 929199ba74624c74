"""`follow_run`: what happens in a run until it is over, asks a person, or 25 seconds have passed."""

from __future__ import annotations

from typing import Any, Final

import anyio
import mcp_types as types

from cellwright.server.http.api_calls import ApiCalls
from cellwright.server.mcp.person_questions import STATELESS, PersonAtClient, Question
from cellwright.server.mcp.tools import Arguments, ToolReply, clipped, report_uri, run_named

_WAIT_SECONDS: Final = 25.0
_LINES: Final = 60
_REPORT: Final = 12_000
_KEPT: Final = ("id", "run", "topic", "what", "offers", "asked_ms")
"""Of a question, what a program is told: not how to answer it."""


async def follow_run(
    api: ApiCalls, arguments: Arguments, person: PersonAtClient, responses: types.InputResponses, control_room: str
) -> ToolReply | types.InputRequiredResult:
    """What happened, or what the client is to ask its person first."""
    run, last = run_named(arguments), arguments.get("after", 0)
    lines, until, seconds = list[str](), anyio.current_time() + _WAIT_SECONDS, 0.0
    if responses:
        await person.take_responses(responses, (await _news(api, run, last, 0))["questions"])
    while True:
        news = await _news(api, run, last, seconds)
        last = news["last"]
        for line in news["lines"]:
            lines.append(line)
            await person.context.session.report_progress(len(lines), message=line)
        seconds = until - anyio.current_time()
        if news["is_over"] or seconds <= 0:
            break
        if (question := person.next_question(news["questions"])) is not None:
            if person.context.protocol_version >= STATELESS:
                return person.request(question)
            await _ask_while_open(api, person, question)
            seconds = 0.0
        elif news["questions"] and (lines or person.notes):
            break
    return await _reply(api, lines, person.notes, news, control_room)


async def _news(api: ApiCalls, run: str, after: object, seconds: float) -> Any:
    return await api.get(f"/runs/{run}/news", after=after, wait_seconds=max(0.0, min(_WAIT_SECONDS, seconds)))


async def _ask_while_open(api: ApiCalls, person: PersonAtClient, question: Question) -> None:
    """Ask; give up when somebody answers elsewhere, or the run is over."""
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            last, is_open = 0, True
            while is_open:
                news = await _news(api, question["run"], last, _WAIT_SECONDS)
                last, is_open = news["last"], any(each["id"] == question["id"] for each in news["questions"])
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        await person.ask(question)
        tasks.cancel_scope.cancel()


async def ended_reply(api: ApiCalls, news: Any, lines: tuple[str, ...] = ()) -> ToolReply:
    """What came of a run that is over."""
    run = news["run"]
    report = (await api.read("GET", f"/runs/{run}/report")).decode()
    parts = [*lines, f"The run {run} is over. Its report, also at {report_uri(run)}:", "", clipped(report, _REPORT)]
    return ToolReply(text="\n".join(parts), data=news | {"questions": []})


async def _reply(api: ApiCalls, lines: list[str], notes: list[str], news: Any, control_room: str) -> ToolReply:
    run, questions = news["run"], news["questions"]
    parts = [f"({len(lines) - _LINES} earlier lines are left out.)"] if len(lines) > _LINES else []
    parts += [*lines[-_LINES:], *notes]
    data = {**news, "lines": lines, "questions": [{name: each[name] for name in _KEPT} for each in questions]}
    if news["is_over"]:
        return await ended_reply(api, data, tuple(parts))
    for question in questions:
        parts += [f"The run asks a person ({question['id']}):", clipped(question["what"], _REPORT)]
    if questions:
        where = f"in the control room at {control_room}" if control_room else "in the page of `cellwright serve`"
        parts.append(f"Only a person can answer: with `cellwright inbox`, or {where}.")
    parts.append(f"The run {run} goes on. Call follow_run again with after={news['last']}.")
    return ToolReply(text="\n".join(parts), data=data)
