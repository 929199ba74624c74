"""An attached notebook: the verbs of an open notebook, in a marimo that somebody else runs.

No cage holds its code, so `permit` is asked before every execution, with what would run. A cell is changed only if it
still reads as it was seen, and only while nobody types: what a person wrote wins.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.attached import edit_program
from cellwright.kernel.attached.edit_checks import Sound, check_edits, edit_orders, with_ids
from cellwright.kernel.attached.marimo_server import MarimoServer, Session, SessionClosed
from cellwright.kernel.attached.session_stream import SessionStream
from cellwright.kernel.attached.turns import TurnStore, turn_between, undo_edits
from cellwright.kernel.attached.typing_rules import (
    LONGEST_SECONDS,
    SILENCE_SECONDS,
    Permission,
    TypingSigns,
    patience_seconds,
    seconds_to_wait,
)
from cellwright.kernel.observation import CellOutcome, Observation, VariablePreview, outcomes_for_summary
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, Edit, EditRefused
from cellwright.notebook.prompt_summary import summary

_READY_SECONDS: Final = 30
_AFTERWARDS_SECONDS: Final = 0.9
_MOST_TRIES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class HostExecution:
    """What is about to run outside any cage, for whoever permits it."""

    server: str
    notebook: str
    edits: tuple[Edit, ...]
    before: Document
    after: Document
    runs: tuple[CellId, ...]
    """Cells that are asked to run; marimo runs what depends on them too, if the notebook is set so."""


Permit = Callable[[HostExecution], Awaitable[Permission]]


class AttachedNotebook:
    """A notebook in somebody's own marimo. Made by `attach`."""

    def __init__(self, server: MarimoServer, session: Session, permit: Permit, turns: TurnStore) -> None:
        self.server = server
        self.session = session
        self.stream = SessionStream()
        self.mirror = self.stream.mirror
        self._permit = permit
        self._turns = turns
        self._turn = anyio.Lock()
        self._began = time.monotonic()

    # ── what is there ──

    @property
    def path(self) -> str:
        """Its file, on the server's machine."""
        return self.session.path

    @property
    def document(self) -> Document:
        """The cells as they are now."""
        return self.mirror.document()

    @property
    def outcomes(self) -> dict[CellId, CellOutcome]:
        """What became of each cell."""
        return {cell.id: self.mirror.outcome(cell) for cell in self.mirror.cells}

    @property
    def stale(self) -> tuple[CellId, ...]:
        """Cells that must run to be current."""
        return self.mirror.stale

    def look(self, names: Sequence[str] = ()) -> tuple[VariablePreview, ...]:
        """Variables as marimo shows them: text it has cut. Nothing is executed."""
        return tuple(self.mirror.variables(names))

    def summary(self, *, budget_tokens: int = 4_000) -> str:
        """The notebook for a prompt."""
        return summary(self.document, outcomes_for_summary(self.outcomes), budget_tokens)

    def foresee(self, edits: Sequence[Edit], run: CellSelection = "affected") -> HostExecution | EditRefused | None:
        """What a call would execute, before anybody is asked; None: nothing."""
        before = self.document
        sound = check_edits(before, edits, run, self.stale)
        if isinstance(sound, EditRefused):
            return sound
        return self._execution(edits, before, sound) if edits or sound.run else None

    def foresee_undo(self) -> HostExecution | EditRefused | None:
        """What taking the last turn back would execute."""
        turn = self._turns.last()
        return None if turn is None else self.foresee(undo_edits(turn, self.document)[0])

    # ── calls ──

    async def apply(
        self, edits: Sequence[Edit], *, run: CellSelection = "affected", seconds: float | None = None
    ) -> Observation:
        """Edit and run what that affects. All edits are made or none; refused edits change nothing.

        Raises `RefusedByPolicy` if nobody permits it, `Unavailable` if the notebook is gone.
        """
        async with self._turn:
            edits = with_ids(edits, self.document)
            return await self._applied(edits, run, seconds, is_undo=False)

    async def run(self, what: CellSelection = "stale", *, seconds: float | None = None) -> Observation:
        """Run cells without changing them."""
        async with self._turn:
            return await self._applied([], what, seconds, is_undo=False)

    async def undo(self, *, seconds: float | None = None) -> Observation:
        """Take the last turn back, by text. What a person has changed since then stays, and is told.

        Raises `UserError` if there is no turn.
        """
        async with self._turn:
            turn = self._turns.last()
            if turn is None:
                raise UserError("There is nothing to undo: no edit was made through Cellwright here.")
            edits, kept = undo_edits(turn, self.document)
            told = "".join(f"Cell {cell!r} was changed since, and stays as it is. " for cell in kept).strip()
            if not edits:
                self._turns.drop_last()
                return Observation(problem=told or "Nothing of it is left to undo.")
            seen = await self._applied(edits, "affected", seconds, is_undo=True)
            return replace(seen, problem=" ".join(filter(None, [seen.problem, told])))

    async def _applied(
        self, edits: Sequence[Edit], run: CellSelection, seconds: float | None, *, is_undo: bool
    ) -> Observation:
        began = time.monotonic()
        permission: Permission = "no"
        for _ in range(_MOST_TRIES):
            before = self.document
            sound = check_edits(before, edits, run, self.stale)
            if isinstance(sound, EditRefused):
                return Observation(refused=sound, stale=self.stale)
            if not edits and not sound.run:
                return Observation(stale=self.stale)
            if permission == "no":
                # Asked once: the same edits of the same cells are the same execution, however often it is begun.
                permission = await self._permit(self._execution(edits, before, sound))
                if permission == "no":
                    raise RefusedByPolicy(
                        "Nobody allowed it, so nothing was executed.",
                        hint="What runs in an attached notebook runs outside any cage: a person says yes to each turn.",
                    )
                continue
            if (typing := await self._quiet(edits, permission)) is not None:
                return Observation(refused=typing, stale=self.stale)
            if self.document != before:
                continue
            mark = edit_program.new_mark()
            silent_since = max(self._began, self.mirror.typed_at)
            patience = patience_seconds(silent_since, _touched(edits), permission, time.monotonic())
            answer = await self._execute(mark, edits, before, sound, seconds, patience)
            if answer is None:
                return self._seen(mark, began, "The kernel did not say what it did.")
            if answer.status in {"late", "moved"}:
                await self._idle()
                continue
            if answer.status == "conflict":
                await self.stream.wait_until(lambda seen=before: self.document != seen)
                return Observation(refused=self._conflict(edits, answer.cells), stale=self.stale)
            problem = answer.message[:2_000] if answer.status != "done" else ""
            return await self._finished(edits, before, answer, mark, began, problem, is_undo=is_undo)
        return Observation(
            problem="The notebook kept changing, or its machine was too busy to begin in time: nothing was done. "
            "Try again when nobody edits it.",
            stale=self.stale,
        )

    def _execution(self, edits: Sequence[Edit], before: Document, sound: Sound) -> HostExecution:
        return HostExecution(
            server=self.server.address.url,
            notebook=self.path,
            edits=tuple(edits),
            before=before,
            after=sound.document,
            runs=sound.run,
        )

    async def _execute(
        self, mark: str, edits: Sequence[Edit], before: Document, sound: Sound, seconds: float | None, patience: float
    ) -> edit_program.ProgramAnswer | None:
        code = edit_program.program(
            mark,
            edits=edit_orders(edits, before, sound.document),
            run=sound.run,
            seen={cell.id: cell.code for cell in before.cells},
            needs=sorted(cell for cell in _touched(edits) if before.find(cell) is not None),
            sent=time.time(),
            patience=patience if self.server.address.is_here else 0,
        )
        printed = await self._without_interrupting(mark, code, seconds)
        await self.stream.wait_until(lambda: self.mirror.own_runs.get(mark, "") in self.mirror.finished)
        return edit_program.read_answer(printed, mark)

    async def _without_interrupting(self, mark: str, code: str, seconds: float | None) -> str:
        """Execute; whoever gives up meanwhile interrupts cells of ours, never what a person runs."""
        printed: list[str] = []
        problems: list[Unavailable | UserError] = []
        over, scope = anyio.Event(), anyio.CancelScope(shield=True)

        async def execute() -> None:
            with scope:
                try:
                    printed.append(await self.server.execute(self.session, code))
                except (Unavailable, UserError) as problem:
                    problems.append(problem)
            over.set()
            self.stream.pulse()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(execute)
            try:
                with anyio.fail_after(seconds):
                    await over.wait()
            except TimeoutError:
                await self._drop(mark, scope, over)
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await self._drop(mark, scope, over)
                raise
        if problems:
            raise problems[0]
        return "".join(printed)

    async def _drop(self, mark: str, scope: anyio.CancelScope, over: anyio.Event) -> None:
        """Leave the execution once it has begun: until then, what runs is somebody else's, and would be interrupted."""
        with contextlib.suppress(SessionClosed):
            while mark not in self.mirror.own_runs and not over.is_set():
                await self.stream.next()
        scope.cancel()
        await over.wait()

    async def _finished(
        self,
        edits: Sequence[Edit],
        before: Document,
        answer: edit_program.ProgramAnswer,
        mark: str,
        began: float,
        problem: str,
        *,
        is_undo: bool,
    ) -> Observation:
        news = await self._yielded(edits) if edits else ""
        turn = turn_between(before, self.document, edits, answer.made)
        if is_undo:
            self._turns.drop_last()
        elif turn is not None:
            self._turns.add(turn)
        return self._seen(mark, began, " ".join(filter(None, [problem, news])))

    def _seen(self, mark: str, began: float, problem: str) -> Observation:
        ran = self.mirror.touched.get(self.mirror.own_runs.get(mark, ""), set())
        cells = tuple(self.mirror.outcome(cell) for cell in self.mirror.cells if cell.id in ran)
        cells = tuple(cell for cell in cells if cell.status != "stale")
        ms = (time.monotonic() - began) * 1000
        return Observation(cells=cells, stale=self.stale, problem=problem, ms=ms)

    # ── nobody's text is lost ──

    def _conflict(self, edits: Sequence[Edit], cells: Sequence[str]) -> EditRefused:
        named = ", ".join(repr(cell) for cell in sorted(cells)[:5])
        message = f"Somebody changed {named} meanwhile: their text stays. Read it again."
        return self._kept(edits, set(map(CellId, cells)), message)

    def _kept(self, edits: Sequence[Edit], cells: set[CellId], message: str) -> EditRefused:
        at = next((at for at, edit in enumerate(edits) if _touched([edit]) & cells), 0)
        current = next((self.document.find(cell) for cell in _touched([edits[at]])), None)
        return EditRefused(index=at, edit=edits[at], reason="stale", message=message, current=current)

    async def _quiet(self, edits: Sequence[Edit], permission: Permission) -> EditRefused | None:
        """Wait until nothing runs and nobody can be typing in these cells; why not, after long enough."""
        touched = _touched(edits)
        await self._idle()
        with anyio.move_on_after(LONGEST_SECONDS):
            while (wait := await self._seconds_to_wait(touched, permission)) > 0:
                with anyio.move_on_after(wait):
                    # Whatever is told may be the moment.
                    await self.stream.next()
                await self._idle()
            return None
        message = (
            "Somebody has the notebook's page open and may be typing there: a cell that is there is changed when they "
            f"have paused elsewhere, or for {SILENCE_SECONDS:.0f} seconds. Their text stays; new cells can be made."
        )
        return self._kept(edits, touched, message)

    async def _seconds_to_wait(self, touched: set[CellId], permission: Permission) -> float:
        if not touched:
            return 0.0
        mirror, pages = self.mirror, await self.server.pages()
        signs = TypingSigns(
            typed=mirror.typed, typed_at=mirror.typed_at, told_at=mirror.told_at, since=self._began, pages=pages
        )
        return seconds_to_wait(signs, touched, permission, time.monotonic())

    async def _idle(self) -> None:
        """Until nobody's cell runs: what is sent meanwhile would wait, and be about cells that have changed."""
        while self.mirror.running:
            await self.stream.next()

    async def _yielded(self, edits: Sequence[Edit]) -> str:
        """If somebody typed in a cell at the moment it was changed, put their text back; what to say of it."""
        touched = _touched(edits)
        self.mirror.typed_code.clear()
        with anyio.move_on_after(_AFTERWARDS_SECONDS if touched and await self.server.pages() else 0):
            while not any(cell in touched for cell, _ in self.mirror.typed_code):
                await self.stream.next()
        late = {cell: code for cell, code in self.mirror.typed_code if cell in touched}
        for cell, code in late.items():
            await self.server.execute(self.session, edit_program.put_back(cell, code))
        return "".join(f"Somebody typed in cell {cell!r} just then: their text stays. " for cell in late).strip()


@asynccontextmanager
async def attach(
    server: MarimoServer, *, permit: Permit, turns: Path, file: str = ""
) -> AsyncGenerator[AttachedNotebook]:
    """The notebook that is open there, or the one of `file`; it is opened if nobody has. Leaving changes nothing there.

    `turns` is the folder that remembers what was changed. Raises `UserError` if it is not clear which one is meant.
    """
    session = await _choose(server, file)
    notebook = AttachedNotebook(server, session, permit, TurnStore(turns, server.address.url, session.path))
    with unwrap_single_error():
        async with server.look_on(session, file) as socket, anyio.create_task_group() as tasks:
            with anyio.fail_after(_READY_SECONDS):
                await tasks.start(notebook.stream.listen, socket, server.why_closed)
            await notebook.stream.settle(socket)
            try:
                yield notebook
            finally:
                tasks.cancel_scope.cancel()


async def _choose(server: MarimoServer, file: str) -> Session:
    sessions = await server.sessions()
    meant = [each for each in sessions if not file or each.path == file]
    if len(meant) == 1:
        return meant[0]
    if meant:
        names = ", ".join(each.path or "(unsaved)" for each in meant[:10])
        raise UserError(f"{len(meant)} notebooks are open there.", hint=f"Name the file of one of them: {names}.")
    return await server.begin_session(file)


def _touched(edits: Sequence[Edit]) -> set[CellId]:
    """The cells that were there and are to be changed; a new cell disturbs nobody."""
    made = {edit.id for edit in edits if isinstance(edit, CreateCell)}
    return {edit.cell for edit in edits if not isinstance(edit, CreateCell) and edit.cell not in made}
