"""One notebook as an editor shows it: our document, marimo's mirror of it, and what people type and run there.

The document is ours. A person's change is an edit of ours at once; where it meets an agent's, theirs stands, and the
agent's next edit of that cell is refused with both texts.
"""

from __future__ import annotations

import asyncio
import html
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
from marimo._ast.cell import CellConfig
from marimo._messaging import notification as marimo
from marimo._messaging.notebook.changes import (
    CreateCell,
    DeleteCell,
    DocumentChange,
    SetCode,
    Transaction,
    TransactionSource,
)
from marimo._messaging.notebook.reconcile import reconcile_transaction
from marimo._messaging.serde import serialize_kernel_message
from marimo._types.ids import CellId_t, ConsumerId

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.observation import (
    CellFinishedEvent,
    CellOutcome,
    CellStartedEvent,
    Event,
    KernelEnd,
    Observation,
)
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.notebook.edits import After, AtStart, CellPosition, Edit
from cellwright.server.editor.document_sync import PLACEHOLDER, creation, edits_of, to_show
from cellwright.server.editor.notifications import RetainedOutput, admitted, blank, notification_of
from cellwright.server.editor.page_texts import PageTexts

if TYPE_CHECKING:
    from marimo._runtime import commands
    from marimo._session.consumer import SessionConsumer

    from cellwright.kernel.session.open_notebook import EditorChannel
    from cellwright.server.editor.sessions import EditorSession, Sessions

logger = logging.getLogger(__name__)

_TYPING_SECONDS: Final = 1.5
"""marimo sends what was typed 0.4 s after the last key; until then nothing is put over it."""

_LOST_SECONDS: Final = 0.2


class NotebookMirror(ABC):
    """What stands between one open notebook and the pages that show it; what they ask, `EditorCommands` carry out."""

    def __init__(self, notebook: OpenNotebook, sessions: Sessions, tasks: anyio.abc.TaskGroup) -> None:
        self.key = f"notebook-{secrets.token_urlsafe(9)}"
        self.notebook: Final = notebook
        self._sessions = sessions
        self._tasks = tasks
        self._pages = PageTexts()
        self._stored: dict[CellId, tuple[str, str]] = {}
        """A cell's text as it was typed, and the text of ours that it became."""
        self._typing: dict[CellId, float] = {}
        self._is_quiet = False
        self._is_kernel_heard = False
        """Whether the kernel itself reports what happens; until then we do, from the notebook's events."""
        self._closed = anyio.Event()
        self.is_begun = False
        self._has_changed = anyio.Event()
        self._channel: EditorChannel | None = None
        self.session: EditorSession = sessions.begin(self)
        self._retained = RetainedOutput(self.session.session_view)
        self.document_changed()
        self._show_present()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Be the notebook's mirror until it is closed."""
        try:
            with unwrap_single_error():
                async with anyio.create_task_group() as tasks:
                    await tasks.start(self._follow)
                    self.is_begun = True
                    task_status.started()
                    tasks.start_soon(self.carry_out)
                    await self._closed.wait()
                    tasks.cancel_scope.cancel()
        finally:
            self._sessions.end(self.session)

    async def _follow(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        is_first = True
        while True:
            async with self.notebook.observe() as events, self.notebook.attach_editor(self) as self._channel:
                if is_first:
                    task_status.started()
                is_first = False
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._fill_in, events)
                    async for body in self._channel.notifications:
                        self._is_kernel_heard = True
                        self._pass_on(body)
                    tasks.cancel_scope.cancel()
            # It was closed, or the kernel spoke faster than it was passed on: what was missed is shown anew.
            self._is_kernel_heard = False
            await anyio.sleep(_LOST_SECONDS)
            self._show_present()

    async def send(self, command: bytes) -> None:
        """One of marimo's own commands, carried out by the kernel. Raises `KernelLost`."""
        if self._channel is not None:
            await self._channel.send(command)

    @property
    def people(self) -> int:
        """How many pages show it now."""
        return self.session.room.size

    # ── from the kernel ──

    def _pass_on(self, body: bytes) -> None:
        notification = admitted(body, lambda cell: cell in self.session.document)
        if notification is None or not self._retained.before(notification, len(body)):
            return
        if isinstance(notification, marimo.CellNotification) and notification.status == "queued":
            cell = self.session.document.get(notification.cell_id)
            self.session.session_view.last_executed_code[notification.cell_id] = cell.code if cell is not None else ""
        self.notify(notification)
        self._retained.after(notification)

    async def _fill_in(self, events: anyio.abc.ObjectReceiveStream[Event]) -> None:
        """While the kernel is at work on what began before we came, it does not speak to editors."""
        async for event in events:
            if isinstance(event, Observation):
                self.notify(marimo.CompletedRunNotification(outcome="succeeded" if event.is_ok else "failed"))
            elif self._is_kernel_heard:
                continue
            elif isinstance(event, CellStartedEvent):
                self.notify(marimo.CellNotification(cell_id=CellId_t(event.cell), status="running", console=[]))
            elif isinstance(event, CellFinishedEvent):
                self._show(event.outcome)

    def kernel_changed(self, end: KernelEnd | None) -> None:
        """The kernel has ended, or another one is there."""
        with self._for_itself("a change of kernels"):
            self._show_kernel(end)

    def _show_kernel(self, end: KernelEnd | None) -> None:
        self._retained.forget()
        if end is None:
            self._is_kernel_heard = False
            if not self.notebook.outcomes:
                self.session.session_view.last_executed_code.clear()
                for cell in self.session.document.cell_ids:
                    self.notify(blank(cell))
            return
        self.notify(marimo.VariablesNotification(variables=[]))
        for cell, shown in list(self.session.session_view.cell_notifications.items()):
            if shown.status in ("running", "queued"):
                self.notify(marimo.CellNotification(cell_id=cell, status="idle"))
        why = html.escape(end.reason)
        self.notify(
            marimo.BannerNotification(
                title="The kernel stopped",
                description=f"{why[:1].upper()}{why[1:]}. Run a cell: another kernel starts, with all that had run.",
                variant="danger",
            )
        )

    def notebook_closed(self) -> None:
        """There will be nothing more."""
        self._closed.set()

    # ── from the notebook ──

    def document_changed(self) -> None:
        """Show what is ours now: an agent's edit, or what became of a person's."""
        if not self._is_quiet:
            with self._for_itself("a change of the document"):
                self._show_document()

    @contextmanager
    def _for_itself(self, what: str) -> Generator[None]:
        """What goes wrong in an editor is not the trouble of whoever edits and runs the notebook."""
        try:
            yield
        except Exception:
            logger.exception("the editor could not show %s", what)

    def _show_document(self) -> None:
        held = [cell for cell, until in self._typing.items() if until > time.monotonic()]
        ours = self.notebook.document
        document = ours if ours.cells else replace(ours, cells=(PLACEHOLDER,))
        changes = to_show(
            self.session.document.cells,
            document,
            is_same=lambda cell, shown, text: self._stored.get(cell) == (shown, text),
            held=held,
        )
        if changes:
            self._apply(changes, source="host", without="")
        if held:
            self._tasks.start_soon(self._look_again)

    async def _look_again(self) -> None:
        await anyio.sleep(_TYPING_SECONDS)
        if not self._closed.is_set():
            self._typing = {cell: until for cell, until in self._typing.items() if until > time.monotonic()}
            self.document_changed()

    def _apply(self, changes: Sequence[DocumentChange], *, source: TransactionSource, without: str) -> None:
        applied = self.session.document.apply(Transaction(changes=tuple(changes), source=source))
        self._has_changed.set()
        self._has_changed = anyio.Event()
        for change in changes:
            if isinstance(change, DeleteCell):
                self.session.session_view.cell_notifications.pop(change.cell_id, None)
        open_pages = [page for page in self.session.room.consumers if page != without]
        self._pages.were_sent(open_pages, changes)
        self.notify(marimo.NotebookDocumentTransactionNotification(transaction=applied), without=without)

    def _show_present(self) -> None:
        for outcome in list(self.notebook.outcomes.values()):
            self._show(outcome)
        call = self.notebook.current
        if call is not None and call.running is not None:
            self.notify(marimo.CellNotification(cell_id=CellId_t(call.running), status="running"))

    def _show(self, outcome: CellOutcome) -> None:
        cell = self.session.document.get(CellId_t(outcome.id))
        if cell is None:
            return
        view = self.session.session_view
        if outcome.status != "stale":
            view.last_executed_code[cell.id] = cell.code
            view.last_execution_time[cell.id] = round(outcome.ms)
        self.notify(notification_of(outcome))

    # ── from people ──

    def joined(self, consumer: SessionConsumer, *, is_new: bool) -> None:
        """A page is connected."""
        page = consumer.consumer_id
        if is_new or not self._pages.knows(page):
            self._pages.shows(page, self.session.document.cells)
        else:
            # Behind the words with which marimo greets it.
            asyncio.get_running_loop().call_soon(self._catch_up, consumer)

    def _catch_up(self, consumer: SessionConsumer) -> None:
        """A page that had lost its connection: what it has missed, and nothing of what was typed there meanwhile."""
        changes = self._pages.missed(consumer.consumer_id, self.session.document.cells)
        if changes:
            missed = Transaction(changes=tuple(changes), source="host", version=self.session.document.version)
            consumer.notify(
                serialize_kernel_message(marimo.NotebookDocumentTransactionNotification(transaction=missed))
            )
        for notification in self.session.session_view.notifications:
            consumer.notify(serialize_kernel_message(notification))

    @abstractmethod
    def heard(self, command: commands.CommandMessage, page: str) -> None:
        """A page asks something of the kernel."""

    @abstractmethod
    async def carry_out(self) -> None:
        """Carry out what was heard, until cancelled."""

    def interrupt(self) -> None:
        """Stop what runs, whoever had asked for it."""
        self._tasks.start_soon(self.notebook.interrupt)

    def shows(self, cell: CellId) -> bool:
        """Whether pages have this cell, as far as is known here."""
        return CellId_t(cell) in self.session.document

    async def until_shown(self, cells: Sequence[CellId]) -> None:
        """Wait, not for long, until it was told that these cells were made."""
        with anyio.move_on_after(_TYPING_SECONDS):
            while not all(self.shows(cell) for cell in cells):
                await self._has_changed.wait()

    def is_typing(self, cell: str) -> None:
        """Somebody types into this cell, and it is not known yet what."""
        if CellId_t(cell) in self.session.document:
            self._typing[CellId(cell)] = time.monotonic() + _TYPING_SECONDS

    def changed(self, page: str, changes: Sequence[DocumentChange]) -> None:
        """A person changed the notebook in this page."""
        with self._a_person_speaks():
            for change in reconcile_transaction(tuple(changes), self.session.document):
                if isinstance(change, SetCode):
                    self._typed(page, CellId(change.cell_id), change.code)
                    continue
                if isinstance(change, CreateCell):
                    self._pages.typed(page, CellId(change.cell_id), change.code)
                self._apply([change], source="frontend", without=page)
                self._edit(change)

    def typed(self, page: str, texts: Iterable[tuple[CellId, str]]) -> None:
        """These are the texts of cells in this page. What it was sent and did not change is no news."""
        with self._a_person_speaks():
            for cell, code in texts:
                self._typed(page, cell, code)

    @contextmanager
    def _a_person_speaks(self) -> Generator[None]:
        """Their changes are in the mirror already; what ours became otherwise is shown once, when all are made."""
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False
            self.document_changed()

    def _typed(self, page: str, cell: CellId, code: str) -> None:
        was_told = self._pages.was_told_lately(page, cell)
        if not self._pages.typed(page, cell, code):
            return
        if was_told:
            self._tasks.start_soon(self._tell_again, page, cell)
        self._typing.pop(cell, None)
        shown: DocumentChange = SetCode(cell_id=CellId_t(cell), code=code)
        if not self.shows(cell):
            shown = CreateCell(cell_id=CellId_t(cell), code=code, name="_", config=CellConfig())
        self._apply([shown], source="frontend", without=page)
        if self.notebook.document.find(cell) is None:
            # Somebody was typing into a cell that an agent took out meanwhile.
            self._edit_with([creation(cell, code, self.notebook.document, place=self._position_of(cell))])
        else:
            self._edit(SetCode(cell_id=CellId_t(cell), code=code))

    async def _tell_again(self, page: str, cell: CellId) -> None:
        """Say a cell's text to the page it came from: told of another's on the way, it may show that one instead."""
        await anyio.sleep(_TYPING_SECONDS)
        if self._typing.get(cell, 0.0) > time.monotonic():
            self._tasks.start_soon(self._tell_again, page, cell)
            return
        shown = self.session.document.get(CellId_t(cell))
        state = self.session.room.consumers.get(ConsumerId(page))
        if shown is None or state is None or self._closed.is_set():
            return
        said = Transaction(
            changes=(SetCode(cell_id=shown.id, code=shown.code),), source="host", version=self.session.document.version
        )
        self._pages.were_sent([page], said.changes)
        state.consumer.notify(
            serialize_kernel_message(marimo.NotebookDocumentTransactionNotification(transaction=said))
        )

    def _edit_with(self, edits: Sequence[Edit]) -> None:
        refused = self.notebook.edit(edits)
        if refused is not None:
            self.alert("Not kept in the notebook", refused.message)

    def _edit(self, change: DocumentChange) -> None:
        self._edit_with(edits_of(change, self.notebook.document))
        cell = self.notebook.document.find(CellId(change.cell_id)) if isinstance(change, CreateCell | SetCode) else None
        if cell is not None and isinstance(change, CreateCell | SetCode):
            # Our file format evens out blank lines and the like: that must not be put back into a line being typed.
            self._stored[cell.id] = (change.code, cell.code)

    def _position_of(self, cell: CellId) -> CellPosition | None:
        shown = [CellId(id) for id in self.session.document.cell_ids]
        if cell not in shown:
            return None
        before = [id for id in shown[: shown.index(cell)] if self.notebook.document.find(id) is not None]
        return After(cell=before[-1]) if before else AtStart()

    # ── to people ──

    def notify(self, notification: marimo.NotificationMessage, *, without: str = "") -> None:
        """To every page, but one."""
        self.session.notify(
            serialize_kernel_message(notification), from_consumer_id=ConsumerId(without) if without else None
        )

    def alert(self, title: str, text: str) -> None:
        """Say something to everybody who looks."""
        self.notify(marimo.AlertNotification(title=title, description=html.escape(text), variant="danger"))

    async def save(self) -> str:
        """Save the notebook; says why it could not be, if so."""
        try:
            conflict = await self.notebook.save()
        except Unavailable as problem:
            return problem.message
        return "The file was changed by somebody else since it was read." if conflict is not None else ""
