"""Finding the gateway, or starting it: one per state directory, whoever asks first and however many at once.

Keys go to it over a pipe: never as an argument, never in an environment. Blocking, with a deadline; standard library
only, because a door hands its keys over before it loads anything else.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TextIO

from cellwright.errors import RefusedByPolicy, Unavailable
from cellwright.models.framing import VERSION, BadFrame, pack_plain, peer_uid, receive_plain

READY: Final = b"ready\n"
"""What a gateway writes to its standard output once it listens."""
_POLL_SECONDS: Final = 0.02
_LOG_BYTES: Final = 1 << 20
_PASSED_ON: Final = (
    "PATH", "HOME", "LANG", "TZ", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""Of the person's environment, what a gateway needs: where keyrings, proxies and certificates are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a gateway is started."""

    home: Path
    """The state directory; the socket, the log and the record lie in it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The person's. Only what names proxies, certificates and keyrings is passed on."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """By provider, handed over at the start."""
    idle_seconds: float = 300
    """It ends after so long without a connection and without a call; `math.inf`: only when told."""
    person: str = ""
    """On whose account calls of the OpenAI-compatible endpoint go."""
    team_rules: Path | None = None
    """The team's rule file: its limits hold for the endpoint too."""
    command: tuple[str, ...] = (sys.executable, "-I", "-m", "cellwright.models.gateway")
    start_seconds: float = 60
    """How long to wait for a gateway to listen."""


def connect_or_start(launch: Launch) -> socket.socket:
    """A connection to the gateway of this state directory, greeted. Raises `Unavailable` or `RefusedByPolicy`."""
    deadline = time.monotonic() + launch.start_seconds
    if (found := connect(launch.home)) is not None:
        return found
    with _only_one(launch.home, deadline):
        if (found := connect(launch.home)) is not None:
            return found
        _start(launch, deadline)
    if (found := connect(launch.home)) is not None:
        return found
    raise Unavailable("The model gateway ended at once.", hint=_last_words(launch.home))


def connect(home: Path) -> socket.socket | None:
    """A greeted connection, or None if no gateway is there."""
    if not home.is_dir():
        return None
    with _short_path(home) as path:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            connection.settimeout(10)
            connection.connect(path)
            greet(connection, os.getuid())
        except (FileNotFoundError, ConnectionError, EOFError):
            connection.close()
            return None
        except (TimeoutError, BadFrame) as problem:
            connection.close()
            raise Unavailable(
                "The model gateway does not answer.", hint="`cellwright gateway stop` ends it."
            ) from problem
        except BaseException:
            connection.close()
            raise
        connection.settimeout(None)
        return connection


def greet(connection: socket.socket, uid: int) -> None:
    """Make sure that a gateway of this person, speaking our language, is at the other end."""
    if (other := peer_uid(connection)) != uid:
        raise RefusedByPolicy(
            f"The model gateway's socket belongs to another user (uid {other}).",
            hint="Remove gateway.sock from the state directory, and find out who put it there.",
        )
    connection.sendall(pack_plain({"kind": "hello", "version": VERSION}))
    match receive_plain(connection):
        case {"kind": "welcome", "version": version} if version == VERSION:
            return
        case {"kind": "failed", "message": str(message), "hint": str(hint)}:
            raise Unavailable(message, hint=hint)
        case _:
            raise BadFrame("no welcome")


def listen(home: Path) -> socket.socket:
    """The gateway's socket, closed to everyone else. What a killed gateway left behind is replaced."""
    home.joinpath("gateway.sock").unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    before = os.umask(0o177)
    try:
        with _short_path(home) as path:
            listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(512)
    return listener


@contextmanager
def sole_gateway(home: Path, wait_seconds: float = 10) -> Generator[bool]:
    """Whether this process may be the gateway of this state directory; it is until the block ends."""
    with _private(home / "gateway.pid", "a+") as file:
        is_sole = _locked(file.fileno(), time.monotonic() + wait_seconds)
        if is_sole:
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
        yield is_sole


def running_pid(home: Path) -> int | None:
    """The process that is the gateway now, if there is one."""
    try:
        with (home / "gateway.pid").open() as file:
            if _locked(file.fileno(), 0):
                return None
            return int(file.read() or 0) or None
    except (FileNotFoundError, ValueError):
        return None


def _start(launch: Launch, deadline: float) -> None:
    log = launch.home / "gateway.log"
    with suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    with _private(log, "a") as errors:
        process = subprocess.Popen(
            launch.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd="/",
            env=_clean(launch.environment),
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    told = {
        "home": str(launch.home.absolute()),
        "keys": dict(launch.keys),
        "idle_seconds": launch.idle_seconds,
        "person": launch.person,
        "team_rules": str(launch.team_rules.absolute()) if launch.team_rules else "",
    }
    with process.stdin, process.stdout:
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(told).encode())
            process.stdin.close()
        ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
        said = os.read(process.stdout.fileno(), len(READY)) if ready else b""
    if said != READY:
        # It has forked away from the process we started, but not out of its group.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if said != READY:
        raise Unavailable("The model gateway could not be started.", hint=_last_words(launch.home))


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.upper() in _PASSED_ON or name.startswith("LC_")}


@contextmanager
def _only_one(home: Path, deadline: float) -> Generator[None]:
    """Of all doors that want a gateway now, one starts it."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _private(home / "gateway.lock", "a") as file:
        if not _locked(file.fileno(), deadline):
            raise Unavailable("Another process has been starting the model gateway for too long.")
        yield


def _locked(descriptor: int, deadline: float) -> bool:
    """Whether the lock was got in time; it is held until the file is closed."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        else:
            return True


@contextmanager
def _short_path(home: Path) -> Generator[str]:
    """A name for the socket that fits into 107 bytes, however deep the state directory lies."""
    folder = os.open(home, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/gateway.sock"
    finally:
        os.close(folder)


def _private(path: Path, mode: Literal["a", "a+"]) -> TextIO:
    """A file that is made closed to everyone else."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), mode)


def _last_words(home: Path) -> str:
    """The end of its log, to be shown."""
    try:
        lines = (home / "gateway.log").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    return f"Its last words: {lines[-1][:300]}" if lines else f"See {str(home / 'gateway.log')!r}."
