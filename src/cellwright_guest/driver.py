"""The kernel process: marimo's own kernel object, driven in one thread over one socket.

`Driver()` builds the kernel before the fork, where it costs nothing per notebook; `serve` binds it to a notebook
and answers the host until the host goes away. No threads, no ZMQ, no queues between processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, NoReturn

import msgspec
from marimo._ast.app_config import _AppConfig
from marimo._messaging.types import KernelStreams
from marimo._output.formatters.formatters import register_formatters
from marimo._plugins.ui._core.ui_element import UIElement
from marimo._runtime import handlers
from marimo._runtime.commands import (
    CodeCompletionCommand,
    CommandMessage,
    DeleteCellCommand,
    ExecuteCellCommand,
    StopKernelCommand,
    UpdateUIElementCommand,
)
from marimo._types.ids import CellId_t

from cellwright_guest import (
    answer_wire,
    answers,
    editor_state,
    functions,
    host_calls,
    host_files,
    host_wire,
    mutants,
    programs,
    report_wire,
    reports,
    sql_engine,
    streams,
    tool,
    transfer_wire,
    variable_facts,
    wire,
    zygote_setup,
)
from cellwright_guest.forks import cell_pauses, hazard_survey, process_fork
from cellwright_guest.marimo_kernel import configure_cells, new_kernel, with_stale_ancestors
from cellwright_guest.patches import swap
from cellwright_guest.patches.audience import audience, hooks
from cellwright_guest.reports import Reporter
from cellwright_guest.transfer import variable_transfer

logger = logging.getLogger(__name__)

_COMPLETION_DOCSTRINGS = 80
"""Limit of completions that come with their documentation: looking it up takes long."""


class Driver:
    """One marimo kernel and the loop that serves it."""

    _loop: asyncio.AbstractEventLoop
    _connection: socket.socket
    _inbox: streams.FrameQueue

    def __init__(self) -> None:
        zygote_setup.close_log_file()
        zygote_setup.add_site_builtins()
        self._host = streams.HostSocket()
        self._console = streams.ConsoleWriter(self._host)
        self._reporter = Reporter(self._host, self._console)
        self._own_commands = streams.OwnCommands()
        self._problem = ""
        self._additions = host_files.Additions()
        self._branches: set[int] = set()
        """Our children that are branches of this kernel."""
        self.patches = swap.apply()
        register_formatters()
        sql_engine.offer_engine()
        reports.follow_progress(self._reporter.progress)
        outlets = KernelStreams(
            stream=streams.GuestStream(self._host),
            stdout=streams.CellStdout(self._console),
            stderr=streams.CellStderr(self._console),
            stdin=streams.NoStdin(),
        )
        self._kernel, self._context = new_kernel(outlets, self._own_commands)
        self._host_calls = host_calls.HostCalls(self._host)
        self._pauses = cell_pauses.CellPauses(self._kernel, self._host, self._answer_in_pause)
        self._reporter.before_cell = self._before_cell
        self._watch(is_watched=False)

    def rehearse(self) -> None:
        """In the new process, before it is bound: do once what a first cell will do; its memory is its own by then.

        Copying a page that is shared with the zygote takes longer than anything a trivial cell does.
        """
        zygote_setup.reseed_numpy()
        asyncio.new_event_loop().close()
        cell = CellId_t("rehearsal")
        self._kernel.mutate_graph([ExecuteCellCommand(cell_id=cell, code="import sys\nrehearsed = 1")], [])
        self._kernel.mutate_graph([], [DeleteCellCommand(cell_id=cell)])

    def serve(self, connection: socket.socket) -> NoReturn:
        """Answer the host until it closes the connection; then end the process."""
        connection.set_inheritable(False)
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        connection.setblocking(True)
        self._connection = connection
        self._host.open(connection)
        self._inbox = streams.FrameQueue(self._loop, connection)
        self._host_calls.open(self._inbox)
        self._own_commands.wake = self._inbox.wake
        signal.signal(signal.SIGINT, handlers.construct_interrupt_handler())
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while not self._inbox.is_closed:
            frame = self._loop.run_until_complete(self._inbox.frame())
            if frame is not None:
                self._answer(*frame)
            with self._host_calls.lent():
                self._run_own_commands()
        os._exit(0)

    def _before_cell(self, cell: CellId_t, ran: Sequence[str], waiting: Sequence[CellId_t]) -> None:
        with self._host_calls.taken_back():
            self._pauses.before(cell, self._inbox, ran, waiting)

    def _answer(self, channel: int, body: bytes) -> None:
        if channel == wire.MARIMO:
            with self._host_calls.lent():
                self._carry_out(body)
        else:
            request: wire.FromHost = _decoder.decode(body)
            match request:
                case wire.Bind() as bind:
                    self._bind(bind)
                case wire.Apply() as apply:
                    with self._host_calls.lent():
                        self._apply(apply)
                case wire.SetUi() as change:
                    with self._host_calls.lent():
                        self._set_ui(change)
                case wire.Look() as look:
                    self._host.send(variable_facts.look(look, self._kernel))
                case wire.RunProgram() as program:
                    self._host.send(programs.run_program(program))
                case wire.ListFunctions() as asked:
                    self._host.send(functions.list_functions(asked, self._kernel))
                case wire.CallFunction() as call:
                    where = functions.FunctionContext(
                        kernel=self._kernel, context=self._context, loop=self._loop, captured=self._reporter.captured
                    )
                    with self._host_calls.lent():
                        called = functions.call_function(call, where)
                    self._host.send(called)
                case wire.TakeValues() as take:
                    self._host.send(variable_facts.take(take, self._kernel.globals))
                case report_wire.AskFacts() as asked:
                    self._host.send(variable_facts.facts(asked, self._kernel.globals))
                case answer_wire.FillText() as asked:
                    self._host.send(answers.fill(asked, self._kernel.globals))
                case answer_wire.RunTests() as asked:
                    self._host.send(answers.run_tests(asked, self._kernel.globals))
                case answer_wire.MutateTests() as asked:
                    self._host.send(mutants.mutate(asked, self._kernel.globals))
                case wire.AddFiles() as addition:
                    self._host.send(self._additions.take(addition))
                case wire.Watch(marimo=is_watched):
                    self._watch(is_watched=is_watched)
                case wire.Survey(request=number):
                    self._survey(number)
                case wire.Fork() as fork:
                    if self._fork(fork):
                        self._say_ready()
                case host_wire.HostAnswer() as late:
                    self._host_calls.drop(late)
                case wire.GoOn():
                    pass
                case wire.Farewell(pid=pid):
                    self._reap(pid)
                case request:
                    self._transfer(request)

    # ── requests ──

    def _bind(self, bind: wire.Bind) -> None:
        """Become this notebook: paths, threads, bounds. Everything that could not be known before the fork."""
        tempfile.tempdir = None
        tool.offer()
        zygote_setup.reseed_numpy()
        zygote_setup.restore_threads(bind.threads)
        filename = host_files.project() + bind.filename.removeprefix(host_files.PROJECT)
        directory = str(PurePosixPath(filename).parent)
        sys.path[:] = [directory, *(entry for entry in sys.path if entry not in ("", directory))]
        sys.argv[:] = [filename]
        self._kernel.argv = sys.argv
        self._kernel.app_metadata.filename = filename
        self._kernel.app_metadata.app_config = _AppConfig.from_untrusted_dict(bind.app_config)
        self._kernel.globals["__file__"] = filename
        self._context.filename = filename
        self._context.app_config = self._kernel.app_metadata.app_config
        self._console.cap = bind.console_bytes
        self._reporter.bounds = bind
        # Not tempfile.gettempdir(), which tries the directory out first.
        self._reporter.captured = streams.DescriptorCapture(os.environ.get("TMPDIR", "/tmp"))
        self._say_ready()

    def _say_ready(self) -> None:
        threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208
        self._host.send(wire.Ready(pid=os.getpid(), python=sys.version.split()[0], threads=threads))

    def _apply(self, apply: wire.Apply) -> None:
        self._reporter.begin(apply.request)
        self._pauses.begin(apply.request, apply.pause_after_ms)
        kernel = self._kernel
        kernel.reactive_execution_mode = "autorun" if apply.reactive else "lazy"
        before = dict(kernel.errors)
        try:
            newly_enabled = configure_cells(kernel, apply.upsert)
            asked = set(apply.run)
            requests = [ExecuteCellCommand(cell_id=CellId_t(cell.cell), code=cell.code) for cell in apply.upsert]
            changed = {request.cell_id for request in requests}
            requests += [
                ExecuteCellCommand(cell_id=CellId_t(cell), code=kernel.graph.cells[CellId_t(cell)].code)
                for cell in apply.run
                if cell not in changed and CellId_t(cell) in kernel.graph.cells
            ]
            waiting = {cell for cell in changed if cell not in asked}
            to_run = kernel.mutate_graph(
                requests, [DeleteCellCommand(cell_id=CellId_t(cell)) for cell in apply.delete], waiting
            )
            kernel.graph.set_stale(waiting & kernel.graph.cells.keys(), prune_imports=True)
            self._reporter.structural(kernel, before, {request.cell_id for request in requests})
            to_run = (to_run | (newly_enabled if apply.reactive else set())) - waiting
            if to_run:
                self._run(kernel._run_cells(with_stale_ancestors(kernel, to_run) if apply.reactive else to_run))
        finally:
            kernel.reactive_execution_mode = "autorun"
            self._pauses.end()
        self._finish(apply.request)

    def _set_ui(self, change: wire.SetUi) -> None:
        self._reporter.begin(change.request)
        unknown = [name for name in change.values if not isinstance(self._kernel.globals.get(name), UIElement)]
        if unknown:
            self._finish(change.request, error=f"Not a UI element of this notebook: {', '.join(sorted(unknown))}.")
            return
        command = UpdateUIElementCommand(
            object_ids=[self._kernel.globals[name]._id for name in change.values],
            values=[msgspec.msgpack.decode(value) for value in change.values.values()],
        )
        self._run(self._kernel.set_ui_element_value(command, notify_frontend=True))
        self._finish(change.request)

    def _carry_out(self, body: bytes) -> None:
        """One of marimo's own commands, from an editor."""
        self._reporter.begin(0)
        self._run(self._handle(body))
        error, self._problem = self._problem, ""
        self._host.send(wire.CommandDone(stale=self._stale(), error=error))

    async def _handle(self, body: bytes) -> None:
        command = msgspec.json.decode(body, type=CommandMessage)
        if isinstance(command, CodeCompletionCommand):
            # marimo has a thread for these, which would be in the way of a fork.
            self._kernel.code_completion(command, docstrings_limit=_COMPLETION_DOCSTRINGS)
        else:
            await self._kernel.handle_message(command)

    def _watch(self, *, is_watched: bool) -> None:
        self._host.is_watched = is_watched
        audience.is_watching = is_watched
        self._kernel._hooks = hooks(is_watched)
        self._reporter.attach(self._kernel._hooks)
        if is_watched:
            self._run(editor_state.send_present_state(self._kernel, self._context))
            self._problem = ""

    # ── branches ──

    def _survey(self, request: int) -> None:
        facts = hazard_survey.survey(self._loop, own=self._own_descriptors(), children=self._branches)
        self._host.send(wire.Surveyed(request=request, facts=facts))

    def _answer_in_pause(self, asked: wire.Survey | wire.Fork) -> bool:
        if isinstance(asked, wire.Survey):
            self._survey(asked.request)
            return False
        is_branch = self._fork(asked)
        if is_branch:
            # What is left of this run is the parent's to tell.
            self._reporter.begin(0)
        return is_branch

    def _fork(self, fork: wire.Fork) -> bool:
        """Two processes come back from this: the kernel, and its branch with a connection of its own (True)."""
        connection, root = self._inbox.descriptors.pop(0), self._inbox.descriptors.pop(0)
        self._host.flush()
        try:
            hazard_survey.quiesce()
            inheritance = process_fork.note_inheritance({*self._own_descriptors(), connection, root})
            pid = process_fork.fork()
        except OSError as error:
            os.close(connection)
            os.close(root)
            self._host.send(wire.Forked(request=fork.request, error=f"{type(error).__name__}: {error}"[:500]))
            return False
        if pid == 0:
            self._become_branch(root, connection, inheritance)
            return True
        os.close(connection)
        os.close(root)
        self._branches.add(pid)
        self._host.send(wire.Forked(request=fork.request, pid=pid))
        return False

    def _become_branch(self, root: int, connection: int, inheritance: process_fork.Inheritance) -> None:
        try:
            gc.freeze()
            self._branches.clear()
            # The same object with another socket behind it: nothing that holds it must be told.
            os.dup2(connection, self._connection.fileno(), inheritable=False)
            os.close(connection)
            process_fork.enter_branch_root(root, inheritance)
            process_fork.rebuild_loop(self._loop)
            self._host.open(self._connection)
            self._inbox = streams.FrameQueue(self._loop, self._connection)
            self._host_calls.open(self._inbox)
            self._own_commands.wake = self._inbox.wake
            if self._reporter.captured is not None:
                self._reporter.captured.close()
            self._reporter.captured = streams.DescriptorCapture(os.environ.get("TMPDIR", "/tmp"))
            self._watch(is_watched=False)
            hazard_survey.settle_child(inheritance.random_state)
            process_fork.unblock_signals()
        except BaseException as error:  # noqa: BLE001  half a branch must not go on, and must not return to its parent's work
            with contextlib.suppress(OSError):
                failure = wire.Forked(request=0, error=f"{type(error).__name__}: {error}"[:500])
                self._connection.sendall(wire.encode(failure))
            os._exit(71)

    def _transfer(self, request: transfer_wire.TransferRequest) -> None:
        """Variables and files on their way to a kernel that is no fork of this one, or from one."""
        match request:
            case transfer_wire.ExportValues() as asked:
                file = self._inbox.descriptors.pop(0)
                own = self._own_descriptors()
                self._host.send(variable_transfer.answer_export(asked, self._kernel.globals, file, own))
            case transfer_wire.ImportValues(request=number):
                file = self._inbox.descriptors.pop(0)
                self._host.send(variable_transfer.answer_import(number, self._kernel.globals, file))
            case transfer_wire.MarkFresh(request=number, cells=cells):
                known = variable_transfer.mark_fresh(self._kernel, cells)
                self._host.send(transfer_wire.FreshMarked(request=number, cells=known, stale=self._stale()))
            case transfer_wire.SeedFiles() as asked:
                self._host.send(host_files.seed_files(asked, host_files.project()))

    def _own_descriptors(self) -> set[int]:
        captured = self._reporter.captured
        own = {self._connection.fileno(), *process_fork.loop_descriptors(self._loop)}
        return own if captured is None else own | {captured.descriptor}

    def _reap(self, pid: int) -> None:
        if pid in self._branches:
            self._branches.discard(pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    # ── running ──

    def _run(self, work: Any) -> None:
        # Outside a cell marimo's own code runs here: what fails in it must not take the notebook down.
        try:
            self._loop.run_until_complete(work)
        except KeyboardInterrupt:
            logger.info("interrupted between cells")
        except Exception as error:
            logger.exception("marimo could not carry out a request")
            self._problem = f"The kernel could not carry this out: {type(error).__name__}: {error}"[:2_000]

    def _run_own_commands(self) -> None:
        """What the notebook asked of itself, e.g. a state set from a background task."""
        while not self._own_commands.empty():
            command = self._own_commands.get_nowait()
            if isinstance(command, StopKernelCommand):
                os._exit(0)
            self._reporter.begin(0)
            self._run(self._kernel.handle_message(command))
            self._finish(0)

    def _finish(self, request: int, error: str = "") -> None:
        error, self._problem = error or self._problem, ""
        if self._pauses.take_left():
            self._say_ready()
            return
        self._host.send(wire.Finished(request=request, stale=self._stale(), error=error))

    def _stale(self) -> list[str]:
        return [str(cell_id) for cell_id, cell in self._kernel.graph.cells.items() if cell.stale]


_decoder = msgspec.msgpack.Decoder(wire.FromHost)
