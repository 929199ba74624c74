"""What a cage's init, or a plain supervisor, does after the kernel runs: reap, meter, answer the host."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from cellwright import framing
from cellwright.sandbox import control_frames
from cellwright.sandbox.cage import file_copies, overlay_changes
from cellwright.sandbox.cage.branches import MAIN, BranchRoots, BranchTable
from cellwright.sandbox.cage.overlay_changes import View
from cellwright.sandbox.cage.rootfs import OverlayView
from cellwright.sandbox.control_frames import KernelExit
from cellwright.sandbox.linux import processes
from cellwright.sandbox.linux.cgroups import counter
from cellwright.sandbox.linux.descriptors import closing
from cellwright.sandbox.linux.processes import MemoryMeter
from cellwright.sandbox.spec import MEGABYTE, CageSpec, Limits

_METER_INTERVAL_SECONDS = 0.1
_URGENT_METER_INTERVAL_SECONDS = 0.02
_CLOCK_REALTIME_COARSE = 5
_CHUNK = 256 * 1024
_CHANGES_BYTES = 256 * 1024
"""Approximate size of one frame of a list: few frames for many files, and none over the wire's limit."""
_ESCAPED_BYTES = 6
"""Largest size of one character in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meters:
    """Open files in which the operating system counts for this cage."""

    memory_events: int | None = None
    cpu_usage: int | None = None
    directory: str | None = None
    """A private directory whose size nothing else limits."""
    memory: MemoryMeter = field(default_factory=MemoryMeter)
    """Used where no control group counts."""

    def descriptors(self) -> set[int]:
        """Those that are there."""
        return {descriptor for descriptor in (self.memory_events, self.cpu_usage) if descriptor is not None}

    def has_killed_for_memory(self) -> bool:
        """Whether a process in the cage was killed because memory ran out."""
        return self.memory_events is not None and counter(_reread(self.memory_events), "oom_kill") > 0

    def cpu_seconds(self) -> float:
        """CPU time of everything in the cage so far."""
        if self.cpu_usage is None:
            return processes.cpu_seconds()
        text = _reread(self.cpu_usage)
        return int(text) / 1e9 if text.strip().isdigit() else counter(text, "usage_usec") / 1e6

    def exceeded(self, limits: Limits) -> str | None:
        """The limit that is used up, of those that nobody but us watches."""
        if limits.cpu_seconds is not None and self.cpu_seconds() > limits.cpu_seconds:
            return "cpu"
        if self.memory_events is None and self.memory.is_over(processes.below(), limit_kb=limits.memory_mb * 1024):
            return "memory"
        if self.directory is None:
            return None
        size, files = file_copies.disk_use(self.directory)
        if size > (limits.disk_mb + limits.tmp_mb) * MEGABYTE:
            return "disk"
        return "inodes" if files > limits.inodes else None

    def are_needed(self, limits: Limits) -> bool:
        """Whether somebody has to look at `exceeded` from time to time."""
        return limits.cpu_seconds is not None or self.memory_events is None

    def pause_seconds(self) -> float:
        """How long not to look."""
        return _URGENT_METER_INTERVAL_SECONDS if self.memory.is_urgent else _METER_INTERVAL_SECONDS


def file_time_ns() -> int:
    """The time as file systems take it, from the coarse clock: later changes are never stamped earlier."""
    return time.clock_gettime_ns(_CLOCK_REALTIME_COARSE)


class Supervisor:
    """The loop of a cage's first process. Nothing the kernel does can make it run code or stop answering."""

    def __init__(
        self, control: socket.socket, meters: Meters, spec: CageSpec, kill_all: Callable[[], dict[int, int]]
    ) -> None:
        self._control = control
        self._kill_all = kill_all
        self._meters = meters
        self._spec = spec
        self._unpacker = control_frames.ControlUnpacker()
        self._kernel = 0
        self._report = -1
        self._views: View = OverlayView(upper=None, lowers=())
        self._since_ns = 0
        self._limit: str | None = None
        self._ending: KernelExit | None = None
        self._is_stopping = False
        self._sent_bytes = 0
        self._poll = select.poll()
        self._branches: BranchTable | None = None
        """None where a cage has no root of its own, and so none for branches."""

    def watch(self, kernel: int, report: int, views: View, since_ns: int) -> None:
        """Take over a kernel that was just forked."""
        self._kernel, self._report, self._views, self._since_ns = kernel, report, views, since_ns
        if isinstance(views, OverlayView):
            self._branches = BranchTable(BranchRoots(self._spec, views), self._send, self._poll)

    def fail(self, reason: str) -> None:
        """Tell the host why there will be no kernel."""
        self._send({"event": "failed", "reason": reason[:2000]})

    def hand_over(self, listener: socket.socket) -> None:
        """Give the host the cage's way out; nobody in here keeps it."""
        with listener:
            self._send({"event": "listening"}, [listener.fileno()])

    def serve(self) -> int:
        """Answer until told to stop or the host is gone; the exit code tells how the kernel ended."""
        wakeup = self._wake_on_children()
        poll = self._poll
        for descriptor in (self._control.fileno(), wakeup, self._report):
            poll.register(descriptor, select.POLLIN)
        has_meters = self._meters.are_needed(self._spec.limits)
        while not self._is_stopping:
            is_watching = has_meters or (self._branches is not None and self._branches.are_there)
            pause_ms = int(self._meters.pause_seconds() * 1000) if is_watching else None
            ready = {descriptor for descriptor, _ in poll.poll(pause_ms)}
            if self._report in ready:
                poll.unregister(self._report)
                self._read_report()
            if wakeup in ready:
                os.read(wakeup, 4096)
            self._reap()
            if has_meters:
                self._meter()
            if self._branches is not None:
                self._branches.supervise()
            if self._control.fileno() in ready:
                self._read_commands()
        if self._ending is None:
            return 0
        # The way a shell would say it.
        return (self._ending.exit_code or 0) if self._ending.signal is None else 128 + self._ending.signal

    def _wake_on_children(self) -> int:
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        os.write(writing, b"\0")
        return reading

    def _read_report(self) -> None:
        if self._report < 0:
            return
        text = os.read(self._report, 4096)
        os.close(self._report)
        self._report = -1
        if text.startswith(b"+"):
            self._send({"event": "started", "since_ns": self._since_ns})
        else:
            how = "ran out of memory" if self._meters.has_killed_for_memory() else "died"
            self.fail(text[1:].decode(errors="replace") or f"the kernel's process {how} before it ran")

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._kernel and self._ending is None:
                if self._branches is not None and self._branches.successor != MAIN:
                    # Another is the kernel now: what is left of it is for nobody.
                    self._kernel = 0
                    self._branches.roots.kill(MAIN)
                    self._send({"event": "branch-ended", "branch": MAIN})
                else:
                    self._end(status)

    def _end(self, status: int) -> None:
        self._read_report()
        self._kill_all()
        code = os.waitstatus_to_exitcode(status)
        number = -code if code < 0 else None
        if self._limit is None and number == signal.SIGKILL and self._meters.has_killed_for_memory():
            self._limit = "memory"
        elif number == signal.SIGXCPU:
            self._limit = "cpu"
        self._ending = KernelExit(exit_code=code if code >= 0 else None, signal=number, limit=self._limit)
        self._send({"event": "ended", **asdict(self._ending)})

    def _meter(self) -> None:
        if self._ending is not None:
            return
        self._limit = self._meters.exceeded(self._spec.limits)
        if self._limit is not None:
            statuses = self._kill_all()
            if self._kernel in statuses:
                self._end(statuses[self._kernel])

    def stop(self) -> None:
        """Leave the loop at its next round."""
        self._is_stopping = True

    def _read_commands(self) -> None:
        data = self._control.recv(65536)
        if not data:
            self._is_stopping = True
            return
        self._unpacker.feed(data)
        while (frame := self._unpacker.next()) is not None:
            message = framing.read_json(frame[1])
            try:
                self._obey(message)
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._send({"id": message.get("id"), "error": f"{type(error).__name__}: {error}"[:500]})

    def _obey(self, message: dict[str, Any]) -> None:
        branch = int(message.get("branch", MAIN))
        history = partial(self._history, branch, is_whole=message.get("whole") is True)
        match message["do"]:
            case "signal":
                self._signal(int(message["signal"]), branch)
                self._send({"id": message["id"]})
            case "changes":
                self._send_changes(message["id"], history())
            case "read":
                self._send_file(message["id"], str(message["path"]), history())
            case "leave":
                self._hand_over_files(message["id"], history())
            case "stop":
                self._is_stopping = True
            case other:
                answer = self._branches.obey(message) if self._branches is not None else None
                if answer is None:
                    raise ValueError(f"unknown command {other!r}")
                roots = [answer.pop("root")] if "root" in answer else []
                self._send({"id": message["id"], **answer}, roots)
                for root in roots:
                    os.close(root)

    def _hand_over_files(self, request: int, history: Sequence[View]) -> None:
        """End everything that runs, then give the host the layers in which the changes are: nobody writes there now."""
        statuses = self._kill_all()
        if self._kernel in statuses:
            self._end(statuses[self._kernel])
        if processes.children():
            raise OSError(errno.EBUSY, "a process of the notebook does not end")
        layers = [view.upper for view in history if view.upper is not None]
        self._send({"id": request, "layers": len(layers)}, layers)

    def _history(self, branch: int, *, is_whole: bool) -> Sequence[View]:
        """Where the changes of a branch are: since it was made, or since the cage was."""
        whole = (self._views,) if self._branches is None else self._branches.roots.history(branch)
        return whole if is_whole else whole[:1]

    def _signal(self, number: int, branch: int) -> None:
        if branch != MAIN and self._branches is not None:
            self._branches.signal(branch, number)
        elif self._ending is None and self._kernel > 0:
            os.kill(self._kernel, number)

    def _send_changes(self, request: int, history: Sequence[View]) -> None:
        self._sent_bytes = 0
        batch: list[tuple[str, str, str, int, int]] = []
        size = 0
        for change in overlay_changes.since_the_start(history, self._spec):
            batch.append(change)
            size += 64 + (len(change[0]) + len(change[2])) * _ESCAPED_BYTES
            if size > _CHANGES_BYTES:
                self._send({"id": request, "changes": batch, "more": True})
                batch, size = [], 0
        self._send({"id": request, "changes": batch, "more": False})

    def _send_file(self, request: int, path: str, history: Sequence[View]) -> None:
        descriptor, size = overlay_changes.open_in_history(history, path)
        with closing(descriptor):
            # Holes and further names of a file take no room in here, but they do where they are kept.
            if self._sent_bytes + size > self._spec.limits.disk_mb * MEGABYTE:
                raise OSError(errno.EFBIG, "all kept files together are over the disk limit")
            self._sent_bytes += size
            self._send({"id": request, "bytes": size})
            left = size
            while left:
                chunk = os.read(descriptor, min(_CHUNK, left))
                if not chunk:
                    self._send({"id": request, "error": "the file became shorter"})
                    return
                self._control.sendall(control_frames.pack_data(request, chunk))
                left -= len(chunk)

    def _send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        data = control_frames.pack_json(message)
        try:
            if descriptors:
                socket.send_fds(self._control, [data], descriptors)
            else:
                self._control.sendall(data)
        except OSError:
            self._is_stopping = True


def _reread(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 4096).decode(errors="replace")
