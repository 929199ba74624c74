"""Background processes: one of a kind per state directory, found or started by whoever asks first.

Each has a private socket, a lock that its death releases, and a log. Who is at the other end and which language
it speaks is the caller's business: every connection is greeted. Blocking, with a deadline; standard library only,
because a client hands its keys over before it loads anything else.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TextIO

from cellwright.errors import Unavailable
from cellwright.remedies import Remedy

READY: Final = b"ready\n"
"""What such a process writes to its standard output once it listens."""
_POLL_INTERVAL_SECONDS: Final = 0.02
_ANSWER_TIMEOUT_SECONDS: Final = 10
_MAX_LOG_BYTES: Final = 1 << 20
_PASSED_VARIABLES: Final = (
    "PATH", "HOME", "LANG", "TZ", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "PIP_PROXY",
)  # fmt: skip
"""Of the person's environment, what every such process needs: where keyrings, proxies and certificates are."""

Greet = Callable[[socket.socket], None]
"""Makes sure of who is at the other end. A connection that is closed meanwhile counts as no such process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundProcess:
    """One kind of background process of a state directory."""

    home: Path
    """The state directory."""
    name: str
    """Its files are `NAME.sock`, `NAME.pid`, `NAME.lock` and `NAME.log`."""
    called: str
    """What people read: "model gateway"."""
    ended_by: Remedy
    """What a person can do about one that does not answer."""

    def file(self, suffix: str) -> Path:
        """One of its files."""
        return self.home / f"{self.name}.{suffix}"

    def unresponsive_error(self) -> Unavailable:
        """The error for one that is there and makes no sense, or none in time."""
        return Unavailable(f"The {self.called} does not answer.", hint=self.ended_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLaunch:
    """How a background process is started."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """All of what it gets: see `clean_environment`."""
    start_message: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """What to be, as JSON on its standard input: never as an argument, never in its environment."""
    seconds: float = 60
    """How long to wait for it to listen."""


def find_or_start(process: BackgroundProcess, launch: ProcessLaunch, greet: Greet) -> socket.socket:
    """A greeted connection, to a new process if there is none. Raises `Unavailable`, or what `greet` raises."""
    deadline = time.monotonic() + launch.seconds
    if (found := find(process, greet)) is not None:
        return found
    with _only_one(process, deadline):
        if (found := find(process, greet)) is not None:
            return found
        _start(process, launch, deadline)
    if (found := find(process, greet)) is not None:
        return found
    raise Unavailable(f"The {process.called} ended at once.", hint=last_log_line(process))


def find(process: BackgroundProcess, greet: Greet) -> socket.socket | None:
    """A greeted connection, or None if no such process is there."""
    if not process.home.is_dir():
        return None
    with _short_path(process) as path, ExitStack() as closing:
        connection = closing.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC))
        try:
            connection.settimeout(_ANSWER_TIMEOUT_SECONDS)
            connection.connect(path)
            greet(connection)
        except (FileNotFoundError, ConnectionError, EOFError):
            return None
        except TimeoutError as problem:
            raise process.unresponsive_error() from problem
        connection.settimeout(None)
        closing.pop_all()
        return connection


def listen(process: BackgroundProcess) -> socket.socket:
    """The process's socket, closed to everyone else. What a killed one left behind is replaced."""
    process.file("sock").unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    # Linux gives the file the mode of the unbound socket. A umask would also be that of every other thread.
    os.fchmod(listener.fileno(), 0o600)
    with _short_path(process) as path:
        listener.bind(path)
    listener.listen(512)
    return listener


@contextmanager
def sole(process: BackgroundProcess, wait_seconds: float = 10) -> Generator[bool]:
    """Whether this process may be the one of this state directory; it is until the block ends."""
    with _private(process.file("pid"), "a+") as file:
        is_sole = _locked(file.fileno(), time.monotonic() + wait_seconds)
        if is_sole:
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
        yield is_sole


def running_pid(process: BackgroundProcess) -> int | None:
    """The process that is running now, if there is one."""
    try:
        with process.file("pid").open() as file:
            if _locked(file.fileno(), 0):
                return None
            return int(file.read() or 0) or None
    except (FileNotFoundError, ValueError):
        return None


def has_ended(process: BackgroundProcess, pid: int, wait_seconds: float) -> bool:
    """Whether this process is running no more; waited for that long."""
    deadline = time.monotonic() + wait_seconds
    while (is_running := running_pid(process) == pid) and time.monotonic() < deadline:
        time.sleep(_POLL_INTERVAL_SECONDS)
    return not is_running


def say_ready(text: bytes = READY) -> None:
    """Tell whoever started us that we listen, and let go of their streams."""
    os.write(1, text)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def clean_environment(environment: Mapping[str, str], also: tuple[str, ...] = ()) -> dict[str, str]:
    """Of the person's environment, what a background process gets; `also` are beginnings of further names."""
    return {
        name: value
        for name, value in environment.items()
        if name.upper() in _PASSED_VARIABLES or name.startswith(("LC_", *also))
    }


def current_person() -> str:
    """Whose process this is, as the system knows them; what the environment claims does not count."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def last_log_line(process: BackgroundProcess) -> str:
    """The end of its log, to be shown."""
    log = process.file("log")
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    return f"Its last words: {lines[-1][:300]}" if lines else f"See {str(log)!r}."


def _start(background: BackgroundProcess, launch: ProcessLaunch, deadline: float) -> None:
    with open_log(background) as errors:
        process = subprocess.Popen(
            launch.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd="/",
            env=dict(launch.environment),
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(dict(launch.start_message)).encode())
            process.stdin.close()
        ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
        said = os.read(process.stdout.fileno(), len(READY)) if ready else b""
    if said != READY:
        # It has forked away from the process we started, but not out of its group.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if said != READY:
        raise Unavailable(f"The {background.called} could not be started.", hint=last_log_line(background))


def open_log(process: BackgroundProcess) -> TextIO:
    """Its log, to be written on; one that has grown long is put aside first."""
    log = process.file("log")
    with suppress(FileNotFoundError):
        if log.stat().st_size > _MAX_LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    return _private(log, "a")


@contextmanager
def _only_one(process: BackgroundProcess, deadline: float) -> Generator[None]:
    """Of all clients that want the process now, one starts it."""
    try:
        process.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Unavailable(
            f"The state directory {str(process.home)!r} cannot be made: {error.strerror}.",
            hint="Set CELLWRIGHT_HOME to a directory of your own.",
        ) from error
    with _private(process.file("lock"), "a") as file:
        if not _locked(file.fileno(), deadline):
            raise Unavailable(f"Another process has been starting the {process.called} for too long.")
        yield


def _locked(descriptor: int, deadline: float) -> bool:
    """Whether the lock was got in time; it is held until the file is closed."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_INTERVAL_SECONDS)
        else:
            return True


@contextmanager
def _short_path(process: BackgroundProcess) -> Generator[str]:
    """A name for the socket that fits into 107 bytes, however deep the state directory lies."""
    folder = os.open(process.home, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{process.name}.sock"
    finally:
        os.close(folder)


def _private(path: Path, mode: Literal["a", "a+"]) -> TextIO:
    """A file that is made closed to everyone else."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), mode)
