"""One session: a draft until the first prompt, then a run, and the runs that go on from it in the same notebook."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from acp import schema
from acp.exceptions import RequestError
from anyio.abc import TaskGroup

from cellwright.errors import CellwrightError
from cellwright.journal.events import QuestionAnswered, QuestionAsked, QuestionWithdrawn, Recorded, RunEnded
from cellwright.runs.events import RunCarriedOver
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.server.acp.prompts import PromptWords
from cellwright.server.acp.questions import UNASKED, answer_of, card_of, is_choice, options_of
from cellwright.server.acp.run_events import coming_events, told_events
from cellwright.server.acp.updates import AnyUpdate, RunTelling, is_edit, line_of, tokens_used
from cellwright.server.http.api_calls import ApiCalls
from cellwright.server.http.routes.runs import run_of_key

logger = logging.getLogger(__name__)
_MOST_SOURCE: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClient:
    """The other side of a session."""

    tell: Callable[[str, AnyUpdate], Awaitable[None]]
    """One update of this session. Raises `ConnectionError`."""
    ask: Callable[[schema.RequestPermissionRequest], Awaitable[schema.RequestPermissionResponse]]
    """Raises `RequestError`, `ConnectionError`, `ValueError` where the client cannot."""
    tasks: TaskGroup
    """As long as the client is there."""
    control_room: Callable[[], str]


@dataclass(slots=True, kw_only=True)
class RunChoices:
    """How runs of a session are begun."""

    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    effort: str = "normal"
    budget_usd: str | None = None


@dataclass(slots=True, kw_only=True)
class _Turn:
    """What is waited for since a prompt."""

    is_over: anyio.Event = field(default_factory=anyio.Event)
    is_cancelled: bool = False


@dataclass(slots=True, kw_only=True)
class AcpSession:
    """What is known of it here."""

    id: str
    """The name of its first run."""
    key: str
    """Of that run; empty: somebody else began it."""
    folder: Path
    api: ApiCalls
    approver: ApiCalls
    """The API as the person at the client has it, for what they answer."""
    client: SessionClient
    mask: Callable[[str], str]
    choices: RunChoices
    notes: list[str] = field(default_factory=list[str])
    """What is to be told with the first prompt."""
    run: str = ""
    """The one that is spoken with now; empty: a draft."""
    is_going: bool = False
    number: int = 1
    """Which of its runs that is."""
    _view: RunView = field(default_factory=lambda: RunView(run=""))
    _last: int = 0
    _telling: RunTelling | None = None
    _changes: dict[str, Any] = field(default_factory=dict[str, Any])
    _turns: list[_Turn] = field(default_factory=list[_Turn])
    _asking: dict[str, anyio.CancelScope] = field(default_factory=dict[str, anyio.CancelScope])
    _asked: set[str] = field(default_factory=set[str])
    _open_words: Any = None
    """A question that any words answer."""
    _following: anyio.CancelScope | None = None

    @property
    def telling(self) -> RunTelling:
        """Of the run it speaks with."""
        if self._telling is None:
            self._telling = RunTelling(mask=self.mask)
        return self._telling

    # ── what the client wants ──

    async def prompt(self, said: PromptWords) -> schema.PromptResponse:
        """Begin, answer or steer; until the run is over, or asks what only words can answer."""
        turn = _Turn()
        self._turns.append(turn)
        try:
            for note in [*self.notes, *said.notes]:
                await self.tell(self.telling.message(note))
            self.notes.clear()
            await self._take(said)
            if turn.is_cancelled:
                await self._stop()
            await turn.is_over.wait()
        finally:
            self._turns.remove(turn)
        reason: schema.StopReason = "cancelled" if turn.is_cancelled else "end_turn"
        return schema.PromptResponse(stop_reason=reason, usage=tokens_used(self._view))

    async def cancel(self) -> None:
        """Stop at once, if a prompt is being worked at; its cells, too."""
        for turn in self._turns:
            turn.is_cancelled = True
        if self._turns and self.is_going:
            await self._stop()

    async def close(self) -> None:
        """Follow it no more; what a prompt of this client waits for is stopped."""
        await self.cancel()
        self.leave()

    def leave(self) -> None:
        """Follow it no more; it goes on."""
        if self._following is not None:
            self._following.cancel()

    async def replay(self) -> None:
        """Tell all that happened in its runs until now, each event once. Raises `ResourceNotFound`."""
        self._begin_run(self.id)
        while True:
            carried = await self._catch_up()
            following = carried or await self._next_run()
            if following is None:
                return
            self._begin_run(following)

    async def skip(self) -> None:
        """Know all that happened in its runs until now, and tell nothing of it. Raises `ResourceNotFound`."""
        tell, self.client = self.client, _silent(self.client)
        try:
            await self.replay()
        finally:
            self.client = tell

    def follow(self) -> None:
        """From now on tell what happens in it, if it goes on; and ask what it asks."""
        if self.is_going and self._following is None:
            self._following = anyio.CancelScope()
            self.client.tasks.start_soon(self._follow, self._following)

    async def tell(self, update: AnyUpdate) -> None:
        """One update of this session."""
        await self.client.tell(self.id, update)

    # ── prompts ──

    async def _take(self, said: PromptWords) -> None:
        if self._open_words is not None:
            question, self._open_words = self._open_words, None
            await self._answer(question, {"answer": said.words[:8_000], "fingerprint": question["fingerprint"]})
        elif self.is_going:
            await self._say(said.words)
        elif self.run and self._view.outcome in {"cancelled", "dead"}:
            await self.api.post(f"/runs/{self.run}/resume", {})
            self.is_going = True
            await self._say(said.words)
        else:
            await self._start(said)
        self.follow()

    async def _say(self, words: str) -> None:
        words = words[:7_000]
        self.telling.own_words.append(words)
        await self.api.post(f"/runs/{self.run}/say", {"text": words})

    async def _start(self, said: PromptWords) -> None:
        notebook = said.notebook or (self._notebook() if self.run else None)
        number = self.number + 1 if self.run else 1
        body = {
            "goal": said.words,
            "data": list(said.data),
            "notebook": notebook,
            "models": list(self.choices.models),
            "tools": list(self.choices.tools),
            "effort": self.choices.effort,
            "budget_usd": self.choices.budget_usd,
            "key": self._key(number),
        }
        begun = await self.api.post("/runs", body)
        self._begin_run(begun["run"])
        self.number = number
        self.is_going = True
        self.telling.own_words.append(said.words)

    def _begin_run(self, run: str) -> None:
        self.run, self._view, self._last, self._telling = run, RunView(run=run), 0, None
        self._changes.clear()

    def _key(self, number: int) -> str:
        return self.key if number == 1 and self.key else f"acp {self.id} {number}"

    def _notebook(self) -> str | None:
        """The notebook of the run before, in which a next one goes on."""
        goal = self._view.goal
        path = None if goal is None else Path(goal.notebook)
        return str(path.relative_to(self.folder)) if path is not None and path.is_relative_to(self.folder) else None

    async def _next_run(self) -> str | None:
        """The run that went on from this one, if there is one."""
        run = run_of_key(self.folder, self.api.caller.person, self._key(self.number + 1))
        try:
            await self.api.get(f"/runs/{run}/timeline", limit=1)
        except CellwrightError:
            return None
        self.number += 1
        return run

    async def _stop(self) -> None:
        try:
            await self.api.post(f"/runs/{self.run}/cancel", {"reason": "cancelled by the person at the client"})
        except CellwrightError as problem:
            # It may have ended by itself in this moment.
            logger.info("the run %s was not cancelled: %s", self.run, problem.message)

    # ── events ──

    async def _catch_up(self) -> str:
        """Tell what happened until now. Where it is carried over to: the name of that run."""
        carried = ""
        async with aclosing(told_events(self.api, self.run, self._last)) as events:
            carried = await self._tell_all(events, is_live=False)
        self.is_going = not carried and (await self.api.get(f"/runs/{self.run}"))["standing"] in _GOING
        return carried

    async def _follow(self, scope: anyio.CancelScope) -> None:
        """Until it is over, or nobody is there any more."""
        try:
            with scope:
                await self._ask_open_questions()
                while True:
                    async with aclosing(coming_events(self.api, self.run, self._last)) as events:
                        carried = await self._tell_all(events, is_live=True)
                    if not carried:
                        break
                    self._begin_run(carried)
        except ConnectionError:
            logger.info("the client of session %s has left; its run goes on", self.id)
        except CellwrightError as problem:
            await self.tell(self.telling.message(f"{problem.message} {problem.hint}".strip()))
        finally:
            self._following = None
            self._end_turns()

    async def _tell_all(self, events: AsyncGenerator[Recorded], *, is_live: bool) -> str:
        """Until they end, or the run does; where it is carried over to: the name of that run."""
        async for recorded in events:
            before, self._view = self._view, update_view(self._view, recorded)
            event = recorded.event
            for update in self.telling.updates(before, self._view, recorded):
                await self.tell(update)
            if is_edit(event):
                await self._tell_edits(recorded)
            self._last = recorded.sequence
            match event:
                case QuestionAsked() if is_live:
                    await self._ask_open_questions()
                case QuestionAnswered(question=question) | QuestionWithdrawn(question=question):
                    self._forget_question(question)
                case RunEnded(workflow=workflow) if workflow == self.run:
                    self.is_going = False
                    if is_live:
                        return ""
                case RunCarriedOver(run=run):
                    return run
                case _:
                    pass
        return ""

    async def _tell_edits(self, recorded: Recorded) -> None:
        """Which cells a call of a tool has changed, and how."""
        event: Any = recorded.event
        if event.effect not in self._changes:
            found = (await self.api.get(f"/runs/{self.run}/changes"))["changes"]
            self._changes = {each["call"]: each for each in found}
        change, goal = self._changes.get(event.effect), self._view.goal
        if change is None or goal is None or all(each["kind"] == "moved" for each in change["cells"]):
            return
        names = [each["name"] for each in change["cells"] if each["name"] and each["kind"] != "moved"]
        line = await anyio.to_thread.run_sync(_line_in, goal.notebook, names[0]) if names else None
        await self.tell(self.telling.edited(f"{event.workflow}#{event.step}", change, goal.notebook, line))

    def _end_turns(self) -> None:
        for turn in self._turns:
            turn.is_over.set()

    # ── questions ──

    async def _ask_open_questions(self) -> None:
        found = (await self.api.get(f"/runs/{self.run}/questions"))["questions"]
        for question in found:
            if question["id"] in self._asked or question["topic"] in UNASKED:
                continue
            self._asked.add(question["id"])
            if is_choice(question):
                scope = self._asking[question["id"]] = anyio.CancelScope()
                self.client.tasks.start_soon(self._ask, question, scope)
            else:
                self._open_words = question
                where = f"with your next message, {self._elsewhere()}"
                await self.tell(self.telling.message(f"{question['what']}\n\nAnswer {where}."))
                self._end_turns()

    async def _ask(self, question: Any, scope: anyio.CancelScope) -> None:
        """Put it to the person; given up once somebody answers elsewhere."""
        card, options = card_of(question, self.telling.waiting_kind), options_of(question)
        wanted = schema.RequestPermissionRequest(session_id=self.id, tool_call=card, options=options)
        body = None
        with scope:
            try:
                body = answer_of(question, await self.client.ask(wanted))
            except (RequestError, ConnectionError, ValueError) as problem:
                logger.info("the client of session %s did not ask its person: %s", self.id, problem)
        if scope.cancelled_caught:
            return
        try:
            if body is None:
                await self.tell(self.telling.message(f"This stays open; answer it {self._elsewhere()}."))
            else:
                await self._answer(question, body)
        except ConnectionError:
            logger.info("the client of session %s has left; what it was asked stays open", self.id)
        finally:
            self._asking.pop(question["id"], None)

    async def _answer(self, question: Any, body: dict[str, str]) -> None:
        try:
            await self.approver.post(f"/questions/{question['id']}/answer", body)
        except CellwrightError as problem:
            await self.tell(self.telling.message(f"That answer does not count: {problem.message}"))

    def _forget_question(self, question: str) -> None:
        if self._open_words is not None and self._open_words["id"] == question:
            self._open_words = None
        if (scope := self._asking.pop(question, None)) is not None:
            scope.cancel()

    def _elsewhere(self) -> str:
        room = self.client.control_room()
        return f"with `cellwright inbox`{f', or in the control room at {room}' if room else ''}"


_GOING: Final = frozenset({"queued", "running", "waiting"})


def _line_in(notebook: str, cell: str) -> int | None:
    try:
        with Path(notebook).open(encoding="utf-8") as file:
            return line_of(cell, file.read(_MOST_SOURCE))
    except (OSError, ValueError):
        return None


def _silent(client: SessionClient) -> SessionClient:
    async def tell(_: str, __: AnyUpdate) -> None:
        """Nothing."""

    return SessionClient(tell=tell, ask=client.ask, tasks=client.tasks, control_room=client.control_room)
