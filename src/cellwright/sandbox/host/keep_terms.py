"""Keeping a notebook's changes on the terms a person set: how many unasked, how long at most, and who hears of it.

The copying is `ProjectWriter`'s, in a thread of its own; here is what happens around it, and when it is broken off.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from cellwright.remedies import remedy
from cellwright.sandbox.host.file_changes import FileChange, KeepReport, UnkeptChanges
from cellwright.sandbox.host.project_writer import KeepStopped, ProjectWriter
from cellwright.sandbox.spec import MEGABYTE

_FIRST_PROGRESS_DELAY_SECONDS = 1.0
_PROGRESS_INTERVAL_SECONDS = 2.0
_MORE_TIME = 5
"""Factor on the timeout that is suggested next, if this one was too short."""
_INTERRUPTED = "it was interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepQuestion:
    """More changes than are kept unasked."""

    files: int
    bytes: int
    reason: str
    option: str
    """The limit that would let them pass unasked, as `--limit` takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepTerms:
    """What a person agreed to."""

    files: int = 10_000
    """Up to so many changes are kept unasked."""
    megabytes: int = 1024
    """Up to so much is kept unasked."""
    most_megabytes: int = 2048
    """Never more than this, holes and further names counted."""
    seconds: float = 120
    """If it takes longer, nothing is kept."""
    ask: Callable[[KeepQuestion], Awaitable[bool]] | None = None
    """Whom to ask about more; None: nobody is there, and none is kept."""
    on_progress: Callable[[str], None] | None = None

    def question(self, changes: Sequence[FileChange]) -> KeepQuestion | None:
        """What to ask about these changes, if anything."""
        size = sum(change.bytes for change in changes)
        what = f"{len(changes):,} changed files, {_readable(size)}"
        if len(changes) > self.files:
            reason, option = f"more than {self.files:,} files", f"kept_files={len(changes)}"
        elif size > self.megabytes * MEGABYTE:
            reason, option = f"more than {_readable(self.megabytes * MEGABYTE)}", f"kept_size={size // MEGABYTE + 1}m"
        else:
            return None
        return KeepQuestion(
            files=len(changes),
            bytes=size,
            reason=f"{what}: {reason} are kept only if you say so",
            option=option,
        )


@dataclass(slots=True)
class KeepProgress:
    """What is going on now, for whoever asks."""

    text: Callable[[], str] = field(default=lambda: "Looking for the files the notebook changed …")


@asynccontextmanager
async def progress_lines(on_progress: Callable[[str], None] | None) -> AsyncGenerator[KeepProgress]:
    """A line from time to time for as long as the block takes; none for a short one."""
    progress = KeepProgress()
    async with anyio.create_task_group() as tasks:
        if on_progress is not None:
            tasks.start_soon(_emit_lines, progress, on_progress)
        yield progress
        tasks.cancel_scope.cancel()


async def _emit_lines(progress: KeepProgress, on_progress: Callable[[str], None]) -> None:
    await anyio.sleep(_FIRST_PROGRESS_DELAY_SECONDS)
    while True:
        if text := progress.text():
            on_progress(text)
        await anyio.sleep(_PROGRESS_INTERVAL_SECONDS)


async def keep_changes(
    make_writer: Callable[[], ProjectWriter], changes: Sequence[FileChange], terms: KeepTerms, progress: KeepProgress
) -> KeepReport:
    """Keep all of them, or none and say why."""
    question = terms.question(changes)
    if question is not None:
        # Whoever is asked sees the question, and types.
        progress.text = lambda: ""
        if terms.ask is None or not await terms.ask(question):
            return _none(changes, question.reason, question.option)
    writer = await anyio.to_thread.run_sync(make_writer)
    progress.text = lambda: _how_far(writer, len(changes))
    work = _Work(writer, changes)
    try:
        await anyio.to_thread.run_sync(work.run, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        # Ctrl-C: copies are taken back, but what already takes its place is brought to its end.
        writer.stop(_INTERRUPTED)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(work.is_over.wait)
        if terms.on_progress is not None:
            terms.on_progress(_last_word(work, len(changes)))
        raise
    if work.report is None:
        longer = max(1, round(terms.seconds * _MORE_TIME))
        return _none(changes, work.stopped, f"keep_time={longer}s")
    return work.report


class _Work:
    """A writer's run in a thread that nobody may be waiting for any more when it ends."""

    def __init__(self, writer: ProjectWriter, changes: Sequence[FileChange]) -> None:
        self._writer, self._changes = writer, changes
        self.is_over = threading.Event()
        self.report: KeepReport | None = None
        self.stopped = ""

    def run(self) -> None:
        try:
            self.report = self._writer.keep(self._changes)
        except KeepStopped as stopped:
            self.stopped = str(stopped)
        except OSError as error:
            # What concerns one file was noted; this is the disk.
            self.stopped = error.strerror or str(error)
        finally:
            self.is_over.set()


def _how_far(writer: ProjectWriter, total: int) -> str:
    if writer.step == "copying":
        return f"Keeping files: {writer.done:,} of {total:,} copied …"
    if writer.step == "syncing":
        return f"Keeping files: all {total:,} copied, waiting for the disk …"
    return f"Keeping files: putting {total:,} in their places …"


def _last_word(work: _Work, total: int) -> str:
    if work.report is not None:
        return f"Too late to stop: all {total:,} changed files had been copied, and were kept."
    return f"Stopped: none of the {total:,} changed files was kept, and the project is as it was."


def _none(changes: Sequence[FileChange], reason: str, option: str) -> KeepReport:
    held_back = UnkeptChanges(
        files=len(changes),
        bytes=sum(change.bytes for change in changes),
        reason=reason,
        hint=remedy("keep_changes", limit=option),
        option=option,
    )
    return KeepReport(kept=(), refused=(), held_back=held_back)


def _readable(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"
