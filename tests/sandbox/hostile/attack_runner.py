"""Runs hostile programs as notebook cells, in real cages, from a real host that is a process of its own.

An attack runner is one such host: a tier, and the user it runs as. It is started once and takes one attack after the
other.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.linux.processes import threads_of

from .sighting import Sighting, survivors, sweep, watch
from .victim import CAGE_UID, HERE, Stage, plain_uid

if TYPE_CHECKING:
    from .catalogue import Attack
    from .judging import CageLimits

User = Literal["root", "root with open software", "plain", "plain without namespaces"]
REPOSITORY = HERE.parents[2]
START_SECONDS = 120
ANSWER_SECONDS = 400
PATIENCE_SECONDS = 60
DYING_SECONDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where the notebooks of an attack runner run, and who opens them."""

    tier: Literal["A", "B", "C"]
    user: User

    def __str__(self) -> str:
        return f"{self.tier} as {self.user}"


def main_settings() -> list[Setting]:
    """Every tier this machine has, from whoever runs the tests. Root needs its software to be open to others on C."""
    is_root = os.geteuid() == 0
    users: dict[str, User] = {"A": "root", "B": "root", "C": "root with open software"}
    found: list[Setting] = []
    for tier in ("A", "B", "C"):
        if tier >= probe().tier:
            found.append(Setting(tier=tier, user=users[tier] if is_root else "plain"))
    return found


def plain_settings() -> list[Setting]:
    """The same once more from a user without rights, where root runs the tests and can become one."""
    if os.geteuid() != 0 or probe().tier not in {"A", "B"}:
        return []
    return [Setting(tier="B", user="plain"), Setting(tier="C", user="plain without namespaces")]


class AttackRunner:
    """A running host."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.secret = f"cw-secret-{secrets.token_hex(16)}"
        self._closing = ExitStack()
        self._cache = _cache_directory(self._closing)
        self.process = self._start()
        self._answer(START_SECONDS)

    def close(self) -> None:
        """End the host; everything it started goes with it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self._closing.close()

    def run(
        self, attack: Attack, stage: Stage, *, targets: dict[str, Any] | None = None, source: str | None = None
    ) -> Sighting:
        """What the attack does from inside a notebook; with other targets or another source, if given."""
        assert stage.secret == self.secret
        order = {
            "do": "attack",
            "tier": self.setting.tier,
            "project": str(stage.project),
            "limits": _limits(attack.limits),
            "source": source or attack.source(stage.targets_inside() | _software() | (targets or {})),
            "interrupt": attack.goes_on == "although asked",
            "patience": PATIENCE_SECONDS,
        }
        before = self._memory_mb(reset=True)
        others = threads_of(plain_uid()) if self.setting.tier == "C" else 0
        with watch(stage.mark, processes=attack.kind == "resource", memory=attack.takes_memory) as peak:
            answer = self.ask(order)
        left = survivors(stage.mark, patience_seconds=DYING_SECONDS)
        if left:
            sweep(stage.mark)
        return Sighting(
            ended=answer.get("ended", "outlived"),
            why=str(answer.get("failed") or answer.get("why")),
            console=answer.get("console", ""),
            console_bytes=answer.get("console_bytes", 0),
            survivors=left,
            peak_processes=peak.processes,
            others=others,
            peak_memory_mb=peak.memory_mb,
            host_fell="" if "ended" in answer else str(answer),
            host_growth_mb=self._memory_mb(reset=False) - before,
            traces=stage.traces(),
            project_mb=stage.project_mb(),
        )

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """One order, one answer; an answer with neither `ended` nor `status` means that the host is not well."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"failed": f"the host is gone: {self.process.poll()}"}
        return self._answer(ANSWER_SECONDS)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.process.kill()
            return {"failed": f"no answer in {seconds} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"failed": f"the host is gone: {self.process.wait()}"}

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", str(HERE / "host_program.py"), str(self._cache)]
        environment = {"HOSTILE_SUITE_TOKEN": self.secret, "PATH": "/usr/bin:/bin", "HOME": str(self._cache)}
        inherited = self._inheritance()
        return subprocess.Popen(
            _command_as(self.setting.user, command, environment),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=inherited,
            start_new_session=True,
        )

    def _inheritance(self) -> list[int]:
        """Descriptors that a careless host would hand down to its kernels: the root directory, and a secret."""
        (self._cache / "note").write_text(self.secret, "utf-8")
        inherited = [os.open(self._cache / "note", os.O_RDONLY), os.open("/", os.O_RDONLY | os.O_DIRECTORY)]
        for descriptor in inherited:
            self._closing.callback(os.close, descriptor)
        return inherited

    def _memory_mb(self, *, reset: bool) -> int:
        """The host's memory now, and afterwards the most it had since."""
        place = Path(f"/proc/{self.process.pid}")
        try:
            if reset:
                (place / "clear_refs").write_text("5", "ascii")
            lines = (place / "status").read_text("utf-8").splitlines()
        except OSError:
            return 0
        return max((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), default=0) // 1024


def _cache_directory(closing: ExitStack) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="cw-attack-runner-"))
    closing.callback(shutil.rmtree, directory, ignore_errors=True)
    if os.geteuid() == 0:
        os.chown(directory, CAGE_UID, CAGE_UID)
    return directory


def _command_as(user: User, command: list[str], environment: dict[str, str]) -> list[str]:
    if user == "root" or os.geteuid() != 0:
        return command
    uid = 0 if user == "root with open software" else CAGE_UID
    without = "yes" if user == "plain without namespaces" else "no"
    readable = [sys.base_prefix, sys.prefix, str(REPOSITORY)]
    variables = ["/usr/bin/env", *(f"{name}={value}" for name, value in environment.items())]
    launcher = [sys.executable, "-I", "-S", str(HERE.parent / "as_user_program.py")]
    return [*launcher, str(uid), str(REPOSITORY / "src"), without, *readable, "--", *variables, *command]


def _limits(limits: CageLimits) -> dict[str, Any]:
    return {
        "memory_mb": limits.memory_mb,
        "processes": limits.processes,
        "disk_mb": limits.disk_mb,
        "tmp_mb": limits.disk_mb,
        "inodes": limits.inodes,
        "kept_files": limits.kept_files,
        "open_files": limits.open_files,
        "output_mb": limits.output_mb,
        "cpu_seconds": limits.cpu_seconds,
        "wall_seconds": limits.wall_seconds,
    }


def _software() -> dict[str, Any]:
    """What a cage shows of ours: nothing may be written there."""
    return {"site_packages": [entry for entry in sys.path if entry.endswith("site-packages")]}
