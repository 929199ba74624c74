"""What the attacks are after, made fresh for each: secrets, a project, a victim process, services of the host.

`set_stage` makes it, gives the `targets` a program is run with, and afterwards says in `traces()` what the attack
left on the host. The secret itself is never among the targets, only its digest.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

HIDDEN: Final = (".env", "keys/id_rsa", "credentials.json")
"""What of the project `_lay_project` makes must not be seen."""
CAGE_UID: Final = 54321
HERE: Final = Path(__file__).parent
SCRATCH_BYTES: Final = "untouched"
NOTEBOOK: Final = """import marimo

__generated_with = "0.25.2"
app = marimo.App()


if __name__ == "__main__":
    app.run()
"""
NAME_TO_HANDLE_AT: Final = {"x86_64": 303, "aarch64": 264}[os.uname().machine]


def plain_uid() -> int:
    """Whom hostile programs run as: the cage's own user when we are root, else ourselves."""
    return CAGE_UID if os.geteuid() == 0 else os.geteuid()


class VictimProcess:
    """A same-uid process that holds the secret in its environment, arguments, memory, files, keys and services."""

    def __init__(self, stage: Stage) -> None:
        orders = {
            "uid": stage.uid,
            "home": str(stage.base / "home" / ".aws"),
            "unix_socket": stage.targets["unix_socket"],
            "abstract_name": stage.targets["abstract_name"],
            "key_name": stage.targets["key_name"],
            "victim_name": stage.targets["victim_name"],
            "posix_queue": stage.targets["posix_queue"],
        }
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", HERE / "victim_process.py", json.dumps(orders), stage.secret],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"HOSTILE_SUITE_TOKEN": stage.secret},
        )
        self.facts: dict[str, int] = json.loads(_stream(self.process.stdout).readline())
        self.niceness = os.getpriority(os.PRIO_PROCESS, self.process.pid)
        self.cores = os.sched_getaffinity(self.process.pid)

    def farewell(self) -> list[str]:
        """End it, and hear what was done to it."""
        traces: list[str] = []
        if self.process.poll() is None:
            if os.getpriority(os.PRIO_PROCESS, self.process.pid) != self.niceness:
                traces.append("the victim was slowed down")
            if os.sched_getaffinity(self.process.pid) != self.cores:
                traces.append("the victim was pinned")
        said, _ = self.process.communicate(timeout=10)
        if self.process.returncode == -signal.SIGKILL:
            return [*traces, "the victim was killed"]
        lines = [json.loads(line) for line in said.splitlines()]
        traces += [f"the host heard {line['heard']}" for line in lines if "heard" in line]
        changed = [line["scratch"] for line in lines if line.get("scratch", SCRATCH_BYTES) != SCRATCH_BYTES]
        return traces + [f"the victim's memory now says {text!r}" for text in changed]


@dataclass(slots=True, kw_only=True)
class Stage:
    """One attack's surroundings."""

    base: Path
    uid: int
    secret: str
    targets: dict[str, Any]
    victim: VictimProcess | None = None
    before: dict[str, str] = field(default_factory=dict[str, str])
    _farewell: list[str] | None = None

    @property
    def project(self) -> Path:
        return self.base / "project"

    @property
    def mark(self) -> str:
        """The name every process of the attack carries, so that it can be found from outside."""
        return self.targets["mark"]

    def targets_inside(self) -> dict[str, Any]:
        """The targets as a cage shows them: its own paths for what it has, the host's for what it must not have."""
        project, tmp = "$CELLWRIGHT_PROJECT", "$TMPDIR"
        return self.targets | {
            "project": project,
            "tmp": tmp,
            "mount_point": tmp,
            "jail_scratch": f"{tmp}/scratch",
            "masked": f"{project}/keys/id_rsa",
            "masked_file": f"{project}/keys/id_rsa",
            "read_only": f"{project}/.git",
            "setuid_id": f"{project}/setuid_id",
        }

    def traces(self) -> tuple[str, ...]:
        """What the attack changed on the host. Ends the victim, so ask once everything else is seen."""
        if self._farewell is None:
            self._farewell = self.victim.farewell() if self.victim else []
        now = self._watched()
        changed = sorted(path for path in self.before.keys() | now.keys() if self.before.get(path) != now.get(path))
        return (
            *(f"changed {Path(path).relative_to(self.base)}" for path in changed),
            *self._landed(),
            *self._farewell,
        )

    def _landed(self) -> Generator[str]:
        """What a kernel must not leave in a project, wherever it lies."""
        for path in _under(self.project):
            name = path.relative_to(self.project)
            if _is_setuid(path) and path.name != "setuid_id":
                yield f"a setuid file landed at {name}"
            if path.name.casefold() in {".git", ".cellwright"} and path.parent != self.project:
                yield f"a repository landed at {name}"
            if path.is_symlink() and name.name not in {"innocent.csv", "reports"} and not self._holds(path):
                yield f"a link out of the project landed at {name}"
            if not path.is_symlink() and path.is_file() and name.as_posix() not in HIDDEN and self._tells(path):
                yield f"the secret landed at {name}"

    def _holds(self, link: Path) -> bool:
        return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(self.project))

    def _tells(self, path: Path) -> bool:
        if not os.access(path, os.R_OK):
            # Only root reads what its owner may not.
            path.chmod(0o400)
        return path.stat().st_size < 4096 and self.secret.encode() in path.read_bytes()

    def project_mb(self) -> int:
        """What the project holds, holes included."""
        return sum(path.lstat().st_size for path in _under(self.project)) >> 20

    def give(self, path: Path) -> None:
        """Let the user the attack runs as own it."""
        if os.geteuid() == 0:
            os.lchown(path, self.uid, self.uid)

    def remember(self) -> None:
        """Take the picture that `traces` compares with."""
        self.before = self._watched()

    def _watched(self) -> dict[str, str]:
        roots = (
            "outside",
            "venv",
            "read_only",
            "canary",
            "home",
            "etc",
            "project/.git",
            "project/.cellwright",
            "project/notebook.py",
        )
        paths = [self.base / root for root in roots if os.path.lexists(self.base / root)]
        return {str(path): _fingerprint(path) for root in paths for path in (root, *_under(root))}


@contextmanager
def set_stage(
    *, with_victim: bool = True, project_uid: int | None = None, secret: str | None = None
) -> Generator[Stage]:
    """A stage in a temporary directory, gone afterwards with all that was started on it.

    `project_uid` owns the project; by default the user the attack runs as. `secret` is what everybody there holds.
    """
    with ExitStack() as closing:
        base = Path(closing.enter_context(_directory()))
        stage = Stage(base=base, uid=plain_uid(), secret=secret or f"cw-secret-{secrets.token_hex(16)}", targets={})
        _furnish(stage)
        _lay_project(stage)
        _give(stage, project_uid)
        stage.targets |= _targets(stage)
        if with_victim:
            stage.victim = VictimProcess(stage)
            closing.callback(_end, stage.victim.process)
            closing.callback(_remove_queues, stage.victim.facts["queue"], stage.targets["posix_queue"])
            stage.targets |= stage.victim.facts
        stage.remember()
        yield stage


@contextmanager
def _directory() -> Generator[str]:
    # Not pytest's own: that one is closed to every user but the one who runs the tests.
    name = tempfile.mkdtemp(prefix="cw-hostile-")
    Path(name).chmod(0o755)
    try:
        yield name
    finally:
        shutil.rmtree(name, ignore_errors=True)


def _furnish(stage: Stage) -> None:
    """The host around the project."""
    base, secret = stage.base, stage.secret
    for name in ("outside", "masked", "read_only", "canary", "jail", "tmp", "run", "etc", "home/.aws"):
        (base / name).mkdir(parents=True)
    (base / "venv/lib/site-packages").mkdir(parents=True)
    (base / "home/.aws/credentials").write_text(f"[default]\naws_secret_access_key = {secret}\n", "utf-8")
    (base / "home/.aws/credentials").chmod(0o600)
    (base / "etc/token").write_text(secret, "utf-8")
    (base / "masked/secret.txt").write_text(secret, "utf-8")
    (base / "outside/ledger.txt").write_text("as it was", "utf-8")


def _lay_project(stage: Stage) -> None:
    """A project with everything in it that a notebook must not see or change."""
    project, secret = stage.project, stage.secret
    for name in ("keys", ".git/hooks", ".cellwright"):
        (project / name).mkdir(parents=True)
    for name in HIDDEN:
        (project / name).write_text(f"TOKEN={secret}\n", "utf-8")
    (project / "keys/id_rsa").write_text(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{secret}\n", "utf-8")
    (project / "notebook.py").write_text(NOTEBOOK, "utf-8")
    (project / ".git/config").write_text("[core]\n", "utf-8")
    (project / ".cellwright/rules.toml").write_text("allow = []\n", "utf-8")
    (project / "innocent.csv").symlink_to(stage.base / "home/.aws/credentials")
    (project / "reports").symlink_to(stage.base / "outside")


def _give(stage: Stage, project_uid: int | None) -> None:
    """Let the plain user own what the attack must be able to reach uncaged; root keeps `etc` and a setuid program."""
    if os.geteuid() != 0:
        return
    for root in ("outside", "read_only", "canary", "jail", "tmp", "run", "home", "venv", "project"):
        owner = project_uid if root == "project" and project_uid is not None else stage.uid
        for path in (stage.base / root, *_under(stage.base / root)):
            os.lchown(path, owner, owner)
    setuid = stage.project / "setuid_id"
    shutil.copyfile("/usr/bin/id", setuid)
    setuid.chmod(0o4755)


def _targets(stage: Stage) -> dict[str, Any]:
    base, mark = stage.base, f"cwh-{secrets.token_hex(4)}"
    return {
        "mark": mark,
        "secret_sha256": hashlib.sha256(stage.secret.encode()).hexdigest(),
        "secret_handle": _handle(base / "home/.aws/credentials"),
        "project": str(stage.project),
        "home": str(base / "home/.aws"),
        "home_secret": str(base / "home/.aws/credentials"),
        "host_file": str(base / "etc/token"),
        "outside": str(base / "outside"),
        "masked": str(base / "masked"),
        "masked_file": str(base / "masked/secret.txt"),
        "mount_point": str(base / "masked"),
        "read_only": str(base / "read_only"),
        "tmp": str(base / "tmp"),
        "canary": str(base / "canary/hatched"),
        "jail_scratch": "scratch",
        "site_packages": [str(base / "venv/lib/site-packages")],
        "setuid_id": str(stage.project / "setuid_id"),
        "unix_socket": str(base / "run/service.sock"),
        "abstract_name": f"{mark}-service",
        "key_name": f"{mark}-key",
        "victim_name": f"{mark}v",
        "posix_queue": f"/{mark}",
    }


def _handle(path: Path) -> tuple[int, str]:
    """The file's handle, which opens it without a path where that is allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    room = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount_id = ctypes.c_int()
    found = libc.syscall(NAME_TO_HANDLE_AT, -100, os.fsencode(path), room, ctypes.byref(mount_id), 0)
    if found != 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at", str(path))
    size, kind = struct.unpack_from("Ii", room.raw)
    return kind, room.raw[8 : 8 + size].hex()


def _under(root: Path) -> list[Path]:
    """Everything below; not by `rglob`, which fails at odd links before Python 3.11.4."""
    return [Path(folder, name) for folder, folders, files in os.walk(root) for name in (*folders, *files)]


def _fingerprint(path: Path) -> str:
    """Mode, time and content; a directory's own time is left out, its entries stand for it."""
    facts = path.lstat()
    if path.is_symlink() or path.is_dir():
        return oct(facts.st_mode)
    return f"{facts.st_mode:o} {facts.st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _is_setuid(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and bool(path.stat().st_mode & 0o6000)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(timeout=10)
    for pipe in (process.stdin, process.stdout):
        _stream(pipe).close()


def _remove_queues(system_v: int, posix: str) -> None:
    libc = ctypes.CDLL(None)
    libc.msgctl(system_v, 0, None)
    libc.mq_unlink(posix.encode())


def _stream(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


class NaiveHost:
    """The host a control's socket leads to: everything ours must not be, in a process of its own."""

    def __init__(self, uid: int) -> None:
        ours, theirs = socket.socketpair()
        self.guest_end = theirs
        with ours:
            os.set_inheritable(ours.fileno(), True)
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", HERE / "naive_host.py", str(ours.fileno()), str(uid)],
                pass_fds=[ours.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )

    def fell(self) -> str:
        """What brought it down; empty when it was well until the kernel closed its end."""
        self.guest_end.close()
        try:
            _, said = self.process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return ""
        return said.decode().strip().rpartition("\n")[2] or ("" if self.process.returncode == 0 else "died")
