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
from cellwright.sandbox.spec import MEGABYTE, Limits

_FIRST_PROGRESS_DELAY_SECONDS = 1.0
_PROGRESS_INTERVAL_SECONDS = 2.0
_MORE_TIME = 5
"""Factor on the timeout that is suggested next, if this one was too short."""
_INTERRUPTED = "it was interrupted"
_TOO_LATE = "Too late to stop: all {:,} changed files had been copied, and were kept."
_STOPPED = "Stopped: none of the {:,} changed files was kept, and the project is as it was."


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepTerms:
    """What a person agreed to."""

    limits: Limits = field(default_factory=Limits)
    """How many changes are kept unasked, how much at most, and how long that may take."""
    ask: Callable[[UnkeptChanges], Awaitable[bool]] | None = None
    """Whom to ask about more; None: nobody is there, and none is kept."""
    on_progress: Callable[[str], None] | None = None

    def question(self, changes: Sequence[FileChange]) -> UnkeptChanges | None:
        """What to ask about these changes, if anything."""
        size, limits = sum(change.bytes for change in changes), self.limits
        if len(changes) > limits.kept_files:
            reason, option = f"more than {limits.kept_files:,} files", f"kept_files={len(changes)}"
        elif size > limits.kept_mb * MEGABYTE:
            reason, option = f"more than {_readable(limits.kept_mb * MEGABYTE)}", f"kept_size={size // MEGABYTE + 1}m"
        else:
            return None
        what = f"{len(changes):,} changed file{'s' * (len(changes) != 1)}, {_readable(size)}"
        return _unkept(changes, f"{what}: {reason} are kept only if you say so", option)


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
            return KeepReport(kept=(), refused=(), held_back=question)
    writer = make_writer()
    progress.text = lambda: _how_far(writer, len(changes))
    is_over, claim = threading.Event(), threading.Lock()
    outcome: list[KeepReport] = []
    longer = max(1, round(terms.limits.keep_seconds * _MORE_TIME))

    def work() -> None:
        # Nobody may be waiting for this thread any more when it ends.
        if not claim.acquire(blocking=False):
            return
        try:
            outcome.append(writer.keep(changes))
        except KeepStopped as stopped:
            outcome.append(_none_kept(changes, str(stopped), f"keep_time={longer}s"))
        except OSError as error:
            # What concerns one file was noted; this is the disk.
            outcome.append(_none_kept(changes, error.strerror or str(error), ""))
        finally:
            is_over.set()

    try:
        await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        # Ctrl-C: copies are taken back, but what already takes its place is brought to its end.
        writer.stop(_INTERRUPTED)
        # A thread that had not begun never will, and would be waited for for ever: then it ends here, at once.
        work()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(is_over.wait)
        if terms.on_progress is not None:
            was_late = any(report.held_back is None for report in outcome)
            terms.on_progress((_TOO_LATE if was_late else _STOPPED).format(len(changes)))
        raise
    return outcome[0]


def _how_far(writer: ProjectWriter, total: int) -> str:
    if writer.step == "copying":
        return f"Keeping files: {writer.done:,} of {total:,} copied …"
    if writer.step == "syncing":
        return f"Keeping files: all {total:,} copied, waiting for the disk …"
    return f"Keeping files: putting {total:,} in their places …"


def _none_kept(changes: Sequence[FileChange], reason: str, option: str) -> KeepReport:
    return KeepReport(kept=(), refused=(), held_back=_unkept(changes, reason, option))


def _unkept(changes: Sequence[FileChange], reason: str, option: str) -> UnkeptChanges:
    return UnkeptChanges(
        files=len(changes),
        bytes=sum(change.bytes for change in changes),
        reason=reason,
        hint=remedy("keep_changes", limit=option),
        option=option,
    )


def _readable(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"
