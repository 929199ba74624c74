"""Real cages for tests: a zygote as a process of its own, run as root and as a plain user."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import anyio.to_thread
import pytest

from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.spec import CageSpec

HERE = Path(__file__).parent
SOURCE = str(HERE.parents[1] / "src")
PLAIN_UID = 54322
_COARSE_CLOCK = 5
"""CLOCK_REALTIME_COARSE, for which Python has no name."""
PATIENCE_SECONDS = 240

User = Literal["root", "plain", "plain without namespaces", "root with reachable software"]
USERS: list[User] = ["root", "plain"] if os.geteuid() == 0 else ["plain"]
WEAK_USERS: list[User] = ["plain without namespaces"]
if os.geteuid() == 0:
    WEAK_USERS.append("root with reachable software")
TIER_OF: dict[User, Any] = {"root": "A", "plain": "B"}


def plain_uid() -> int:
    return PLAIN_UID if os.geteuid() == 0 else os.geteuid()


def command_as(user: User, command: list[str]) -> list[str]:
    """The command line that runs `command` as the given kind of user."""
    if user == "root" or (user == "plain" and os.geteuid() != 0):
        return command
    uid = 0 if user == "root with reachable software" else plain_uid()
    without = "yes" if user == "plain without namespaces" else "no"
    launcher = [sys.executable, "-I", "-S", str(HERE / "as_user_program.py"), str(uid), SOURCE, without]
    return [*launcher, sys.base_prefix, sys.prefix, str(HERE.parents[1]), "--", *command]


@dataclass
class Cage:
    """One cage as the host sees it."""

    pid: int
    pidfd: int
    control: CageControl
    kernel: socket.socket
    how: int | None = None

    async def result(self) -> dict[str, Any]:
        """What the program printed and how it failed, if it did."""
        data = await anyio.to_thread.run_sync(self._read_line, abandon_on_cancel=True)
        return cast("dict[str, Any]", json.loads(data)) if data else {"out": "", "error": "the kernel is gone"}

    async def output(self) -> str:
        """What a program printed that must not fail."""
        result = await self.result()
        assert result["error"] is None, result["error"]
        return cast("str", result["out"])

    def _read_line(self) -> bytes:
        data = b""
        while not data.endswith(b"\n"):
            chunk = self.kernel.recv(1 << 16)
            if not chunk:
                return b""
            data += chunk
        return data

    def kill(self) -> None:
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        self.kernel.close()
        self.control.close()
        os.close(self.pidfd)


@dataclass
class Zygote:
    """The host's end of a running zygote."""

    user: User
    process: subprocess.Popen[bytes]
    requests: socket.socket
    cages: dict[int, Cage] = field(default_factory=dict[int, Cage])
    descriptors: int = 0

    @classmethod
    def launch(cls, user: User) -> Zygote:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(PATIENCE_SECONDS)
        command = [sys.executable, "-I", "-S", str(HERE / "zygote_program.py"), SOURCE, str(theirs.fileno())]
        process = subprocess.Popen(command_as(user, command), env={}, pass_fds=[theirs.fileno()])
        theirs.close()
        return cls(user, process, ours)

    async def start(self, spec: CageSpec, program: str = "") -> Cage:
        """A started cage; `OSError` with the zygote's words if it refused."""
        kernel, kernel_end = socket.socketpair()
        control, control_end = socket.socketpair()
        kernel.settimeout(PATIENCE_SECONDS)
        request = json.dumps({"spec": asdict(spec), "program": program}).encode()
        socket.send_fds(self.requests, [request], [kernel_end.fileno(), control_end.fileno()])
        kernel_end.close()
        control_end.close()
        answer, fds = await anyio.to_thread.run_sync(self._answer)
        if "failed" in answer:
            kernel.close()
            control.close()
            raise OSError(answer["failed"])
        self.descriptors = answer["descriptors"]
        speaking = CageControl(control, proxy_port=spec.proxy_port, tier=spec.tier)
        cage = Cage(answer["started"], fds[0], speaking, kernel)
        self.cages[cage.pid] = cage
        return cage

    def _answer(self) -> tuple[dict[str, Any], list[int]]:
        while True:
            message, fds, _, _ = socket.recv_fds(self.requests, 1 << 16, 2)
            answer = cast("dict[str, Any]", json.loads(message))
            if "ended" not in answer:
                return answer, fds
            self.cages.pop(answer["ended"]).how = answer["how"]

    async def ended(self, cage: Cage) -> int:
        """The exit code of its first process, negative for a signal, once the zygote has cleaned up after a cage."""

        def wait() -> None:
            while cage.how is None:
                answer = cast("dict[str, Any]", json.loads(self.requests.recv(1 << 16)))
                self.cages.pop(answer["ended"]).how = answer["how"]

        await anyio.to_thread.run_sync(wait)
        assert cage.how is not None
        return cage.how

    @asynccontextmanager
    async def cage(self, spec: CageSpec, program: str = "") -> AsyncGenerator[Cage]:
        """A cage that is gone, to the last trace, at the end of the block."""
        cage = await self.start(spec, program)
        try:
            yield cage
        finally:
            cage.kernel.close()
            cage.control.close()
            if cage.how is None and self.process.poll() is None:
                await self.ended(cage)
            os.close(cage.pidfd)

    def close(self) -> None:
        self.requests.close()
        self.process.wait(PATIENCE_SECONDS)


@pytest.fixture
def projects() -> Iterator[Callable[[User], Path]]:
    """Makes project directories that belong to the given kind of user."""
    made: list[Path] = []

    def make(user: User) -> Path:
        directory = Path(tempfile.mkdtemp(prefix="project-"))
        made.append(directory)
        directory.chmod(0o755)
        if os.geteuid() == 0 and not user.startswith("root"):
            os.chown(directory, PLAIN_UID, PLAIN_UID)
        return directory

    yield make
    for directory in made:
        shutil.rmtree(directory)


@pytest.fixture(scope="session")
def zygotes() -> Iterator[Callable[[User], Zygote]]:
    """One zygote for each kind of user; where a test has killed it, the next gets another."""
    launched: list[Zygote] = []

    def launch(user: User) -> Zygote:
        for zygote in launched:
            if zygote.user == user and zygote.process.poll() is None:
                return zygote
        launched.append(Zygote.launch(user))
        return launched[-1]

    yield launch
    for zygote in launched:
        zygote.close()


@dataclass
class CageStarter:
    """A zygote, a project and a spec that fit together."""

    user: User
    zygote: Zygote
    project: Path
    spec: CageSpec

    def write(self, path: str, content: str = "", owner: int | None = None) -> Path:
        """A file of the project, by default owned by whom the project belongs to."""
        file = self.project / path
        for directory in reversed([parent for parent in file.parents if not parent.exists()]):
            directory.mkdir()
            self._own(directory, owner)
        file.write_text(content)
        self._own(file, owner)
        # Files are stamped by a coarse clock: of one that a cage meets in the tick it was written in, nobody could say
        # that it was there before.
        while time.clock_gettime_ns(_COARSE_CLOCK) <= file.stat().st_ctime_ns:
            pass
        return file

    def _own(self, path: Path, owner: int | None) -> None:
        if os.geteuid() == 0:
            uid = self.project.stat().st_uid if owner is None else owner
            os.chown(path, uid, uid)

    async def run(self, program: str, **changes: Any) -> str:
        """What a program printed that must not fail."""
        async with self.zygote.cage(replace(self.spec, **changes), program) as cage:
            return await cage.output()


CageStarterFor = Callable[[User], CageStarter]
CageFor = Callable[[CageSpec, str], Awaitable[Cage]]


@pytest.fixture
def starter_for(zygotes: Callable[[User], Zygote], projects: Callable[[User], Path]) -> CageStarterFor:
    def make(user: User) -> CageStarter:
        project = projects(user)
        software = (sys.base_prefix, sys.prefix)
        spec = CageSpec(
            name="test",
            tier=TIER_OF.get(user, "C"),
            project=str(project),
            software=software,
            environment={"PATH": "/usr/bin:/bin"},
        )
        return CageStarter(user, zygotes(user), project, spec)

    return make


@pytest.fixture(params=USERS)
def starter(request: pytest.FixtureRequest, starter_for: CageStarterFor) -> CageStarter:
    """Once as root on tier A, once as a plain user on tier B."""
    return starter_for(request.param)
