"""Watching one run from its first word to its end, at one terminal: what it tells, what it asks, and Ctrl-C.

Everything is read from the journal and said through it, so it does not matter which process executes the run.
"""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final, Literal

import anyio
import anyio.to_thread

from cellwright.agents.drafts import DraftView
from cellwright.cli.render import console, run_output
from cellwright.cli.render.console import is_interactive
from cellwright.cli.render.remedies import problem_text
from cellwright.cli.render.run_output import Display
from cellwright.cli.terminal_input import ask_person, next_line, person_here
from cellwright.errors import CellwrightError, UserError
from cellwright.journal.events import RunEnded
from cellwright.journal.names import stream_of
from cellwright.journal.questions import OpenQuestion
from cellwright.journal.records import Records, known_run
from cellwright.kernel.task_groups import wait_for_any
from cellwright.policy.masking.masker import Masker
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.views.progress import delivery_of
from cellwright.runs.views.questions import PAUSED, open_question_view, run_inbox
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.server import RunClient, runs_here_or_there
from cellwright.settings import Settings

_POLL_INTERVAL_SECONDS: Final = 2.0
_RETRY_INTERVAL_SECONDS: Final = 0.02
"""A run tells of its end a moment before its result is there."""
_MAX_REASON_POLLS: Final = 250
"""So often one looks again for why a run was cancelled: that is told a moment after it is."""
_MAX_INTERRUPTS: Final = 2
"""Ctrl-C pauses, stops, and then leaves at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedDelivery:
    """The run has ended."""

    delivery: Delivery
    is_by_us: bool
    """The person at this terminal stopped it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedQuestions:
    """The run waits for a person, and nobody here can answer, or wants to."""

    questions: tuple[dict[str, Any], ...]
    """Each with the command that answers it."""


WatchOutcome = WatchedDelivery | WatchedQuestions | Literal["paused", "left"]
"""paused: the person here let it pause, and went. left: they only stopped watching."""


@dataclass(slots=True, kw_only=True)
class RunWatch:
    """A person, or a program, who watches one run."""

    records: Records
    run: str
    display: Display
    masker: Masker
    is_somebody_here: bool
    cancel: Callable[[], Awaitable[None]] | None = None
    """Ends the run for good, for whom Ctrl-C pauses it first; None: Ctrl-C only leaves."""
    drafts: Callable[[], AsyncGenerator[tuple[DraftView, ...]]] | None = None
    """Follows what its agents are being answered; None: nobody here can tell."""
    view: RunView = field(init=False)
    _outcome: WatchOutcome | None = field(init=False, default=None)
    _over: anyio.Event = field(init=False, default_factory=anyio.Event)
    _changed: anyio.Event = field(init=False, default_factory=anyio.Event)
    _open: tuple[OpenQuestion, ...] = field(init=False, default=())
    _asked: str = field(init=False, default="")
    _answered: set[str] = field(init=False, default_factory=set[str])
    _dialogue: anyio.CancelScope | None = field(init=False, default=None)
    _hushed: anyio.Event = field(init=False, default_factory=anyio.Event)
    _interrupts: int = field(init=False, default=0)
    _is_late: bool = field(init=False, default=False)
    """The person let it go on before it had paused: it may still do so."""

    def __post_init__(self) -> None:
        self.view = RunView(run=self.run)

    async def until_over(self) -> WatchOutcome:
        """Show everything from the beginning on, ask what it asks, until it ends or this terminal is left."""
        problem: Exception | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._receive_signals)
                tasks.start_soon(self._attend)
                tasks.start_soon(self._follow_drafts)
                self.display.appear()
                try:
                    await self._follow()
                except Exception as error:  # noqa: BLE001 - raised again below as it is, outside the group
                    problem = error
                tasks.cancel_scope.cancel()
        finally:
            self.display.hide()
        if problem is not None:
            raise problem
        if self._outcome is None:
            items = run_inbox(self.records, self.masker).read(self._open)
            return WatchedQuestions(questions=tuple(map(open_question_view, items)))
        return self._outcome

    # ── what it tells ──

    async def _follow(self) -> None:
        after, patience, untold = 0, _POLL_INTERVAL_SECONDS, 0
        while not self._over.is_set():
            news = self.records.log.growth.next()
            row = await known_run(self.records, self.run)
            async for recorded in self.records.log.read_all(stream_of(self.run), after):
                after, before = recorded.sequence, self.view
                self.view = update_view(before, recorded)
                self.display.show(recorded, before, self.view)
                event = recorded.event
                has_ended = isinstance(event, RunEnded) and event.workflow == self.run
                patience = _RETRY_INTERVAL_SECONDS if has_ended else _POLL_INTERVAL_SECONDS
            await self._look_for_questions()
            if row.state == "cancelled" and not self.view.ended and untold < _MAX_REASON_POLLS:
                untold, patience = untold + 1, _RETRY_INTERVAL_SECONDS
            elif not row.is_going:
                delivery = delivery_of(row.state, self.view)
                assert delivery is not None
                if self._dialogue is not None and self._asked:
                    # The person is told first that what they are being asked needs no answer any more.
                    self._give_up_dialogue()
                    await self._hushed.wait()
                self._end(WatchedDelivery(delivery=delivery, is_by_us=self._interrupts > 1))
                return
            with anyio.move_on_after(patience):
                await wait_for_any(news, self._over)

    async def _follow_drafts(self) -> None:
        while self.drafts is not None:
            with suppress(CellwrightError):
                async with aclosing(self.drafts()) as told:
                    async for views in told:
                        self.display.show_drafts(views)
            # Whoever executed it has ended, and the next one is about to begin.
            self.display.show_drafts(())
            await anyio.sleep(_POLL_INTERVAL_SECONDS)

    async def _look_for_questions(self) -> None:
        pending = await self.records.questions.pending(self.run)
        # A look that began before an answer of ours was kept still finds its question.
        found = tuple(each for each in pending if each.id not in self._answered)
        if found == self._open:
            return
        self._open = found
        if self._asked and self._asked not in {each.id for each in found}:
            self._give_up_dialogue()
        self._wake()
        if found and not self.is_somebody_here:
            self._end()

    # ── what it asks ──

    async def _attend(self) -> None:
        """One dialogue at a time, and none that nobody needs any more."""
        if not self.is_somebody_here:
            return
        while True:
            changed = self._changed
            if self._interrupts:
                await self._talk(self._pause_and_ask)
            elif self._open:
                question = self._open[0]
                await self._talk(lambda question=question: self._ask(question))
            else:
                await changed.wait()

    async def _talk(self, dialogue: Callable[[], Awaitable[None]]) -> None:
        self.display.hide()
        self._hushed = anyio.Event()
        with anyio.CancelScope() as scope:
            self._dialogue = scope
            await dialogue()
        if scope.cancelled_caught and not self._interrupts:
            asked = await self.records.questions.get(self._asked)
            is_answered = asked is not None and asked.state == "answered"
            said = "It was answered elsewhere." if is_answered else "It is no longer asked."
            run_output.say(f"\n{said}", style="dim")
        self._dialogue, self._asked = None, ""
        self._hushed.set()
        if not self._over.is_set():
            self.display.appear()

    async def _ask(self, question: OpenQuestion) -> None:
        self._asked = question.id
        if question.question.topic == PAUSED and self._is_late:
            # It heard of the pause before, and of going on after it began to wait.
            await self._go_on()
        elif question.question.topic == PAUSED:
            run_output.say(f"{question.question.text} Enter lets it go on.", style="yellow")
            if await next_line() is None:
                self._end()
                return
            await self._go_on()
        else:
            inbox = run_inbox(self.records, self.masker)
            if not await ask_person(inbox, await inbox.show(question.id)):
                self._end()
                return
        self._answered.add(question.id)
        self._open = tuple(each for each in self._open if each.id != question.id)

    # ── Ctrl-C ──

    async def _receive_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            # Only the main thread of a process hears signals.
            return
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as heard:
            async for number in heard:
                await self._interrupted(is_polite=number == signal.SIGTERM)

    async def _interrupted(self, *, is_polite: bool) -> None:
        if self.cancel is None:
            self._end("left")
            return
        if not self.is_somebody_here or is_polite:
            await self._pause()
            self._end("paused")
            return
        self._interrupts += 1
        if self._interrupts > _MAX_INTERRUPTS:
            self._end("left")
        self._give_up_dialogue()
        self._wake()

    async def _pause_and_ask(self) -> None:
        """The first Ctrl-C pauses; Enter goes on, another one stops the run for good."""
        if self._interrupts == 1:
            run_output.say("\nPausing; everything is kept. Enter goes on, Ctrl-C again stops the run.", style="yellow")
            await self._pause()
            if await next_line() is None:
                self._end("paused")
                return
            self._interrupts = 0
            await self._go_on()
            run_output.say("Going on.", style="dim")
            return
        run_output.say("\nStopping …", style="yellow")
        assert self.cancel is not None
        try:
            await self.cancel()
        except CellwrightError as problem:
            run_output.say(problem_text(problem), style="red")
            self._end("left")
        await self._over.wait()

    async def _pause(self) -> None:
        # It may have ended meanwhile, which is told in a moment.
        with suppress(UserError):
            await (await _steering_commands()).pause(self.records, self.run, person_here())

    async def _go_on(self) -> None:
        with suppress(UserError):
            self._is_late = not await (await _steering_commands()).resume(self.records, self.run, person_here())

    # ── inside ──

    def _end(self, outcome: WatchOutcome | None = None) -> None:
        """Without an outcome: it is left waiting for a person."""
        if not self._over.is_set():
            self._outcome = outcome
            self._over.set()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def _give_up_dialogue(self) -> None:
        if self._dialogue is not None:
            self._dialogue.cancel()


def open_watch(
    records: Records,
    run: str,
    masker: Masker,
    *,
    as_json: bool,
    client: RunClient | None,
    cancel: Callable[[], Awaitable[None]] | None = None,
) -> RunWatch:
    """For whoever started this command: a person at a terminal, or a program."""
    display = run_output.display_for(run, as_json=as_json)
    has_drafts = client is not None and isinstance(display, run_output.LiveScreen)
    return RunWatch(
        records=records,
        run=run,
        display=display,
        drafts=(lambda: client.drafts_of(run)) if has_drafts else None,
        masker=masker,
        is_somebody_here=is_interactive() and not as_json,
        cancel=cancel,
    )


async def _steering_commands() -> ModuleType:
    """What one says to a run at work loads agents, which takes a while: not before it is needed, and in a thread."""
    return await anyio.to_thread.run_sync(importlib.import_module, "cellwright.runs.execute.steering_commands")


# ── whoever executes runs: the daemon of this state directory, or this process if there can be none ──


def open_run_client() -> AbstractAsyncContextManager[RunClient]:
    """Runs in the daemon, which is started if need be; else here, which is said."""
    return runs_here_or_there(Settings.read(), console.note)
