"""Two kernels of one pool, of one user, at the same time: neither sees, reads, signals or reaches the other.

The same programs that are shown to succeed against a process of the host, here against a kernel that holds the secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import every

from .attack_runner import AttackRunner, Setting, main_settings
from .catalogue import ATTACKS, Attack, Held, judge
from .conftest import AttackRunnerFor
from .victim import SCRATCH_BYTES, set_stage

BY_FILES = ("read_home_credentials", "list_home_directory", "read_through_new_symlink", "read_through_hard_link")
BY_PROCESS = (
    "see_host_processes",
    "read_every_environment",
    "read_memory_through_proc",
    "read_memory_by_syscall",
    "write_memory_by_syscall",
    "attach_with_ptrace",
    "steal_descriptor",
    "read_through_other_root",
    "read_through_other_cwd",
    "read_through_other_descriptor",
    "kill_victim",
    "kill_victim_by_pidfd",
)
BY_SOCKET = ("connect_unix_socket", "connect_abstract_socket")
NEIGHBOUR = """
import ctypes, json, os, socket, tempfile, threading
from pathlib import Path

place = Path(os.environ["TMPDIR"], "neighbour")
place.mkdir()
(place / "credentials").write_text(SECRET)
os.environ["HOSTILE_SUITE_TOKEN"] = SECRET
in_memory = ctypes.create_string_buffer(SECRET.encode(), 64)
scratch = ctypes.create_string_buffer(UNTOUCHED, 16)
held = os.open(place / "credentials", os.O_RDONLY)
os.chdir(place)


def serve(address):
    door = socket.socket(socket.AF_UNIX)
    door.bind(address)
    door.listen()

    def answer():
        while True:
            visitor, _ = door.accept()
            visitor.sendall(SECRET.encode())
            visitor.close()

    threading.Thread(target=answer, daemon=True).start()


if HAS_SOCKETS:
    serve(str(place / "service.sock"))
    serve("\\0" + NAME)
print(json.dumps({
    "home": str(place), "home_secret": str(place / "credentials"), "unix_socket": str(place / "service.sock"),
    "abstract_name": NAME, "victim_fd": held, "victim_name": Path("/proc/self/comm").read_text().strip(),
    "victim_address": ctypes.addressof(in_memory), "victim_scratch_address": ctypes.addressof(scratch),
}))
"""


@dataclass
class Neighbour:
    """The kernel that is attacked, and where everything of it is."""

    runner: AttackRunner
    targets: dict[str, Any]

    def scratch(self) -> str:
        answer = self.runner.ask({"do": "ask neighbour", "source": "print(scratch.value.decode())"})
        return answer.get("console", str(answer)).strip()


def settings() -> list[Any]:
    """All tiers; between A and B the walls to a neighbour are the same ones."""
    return [
        pytest.param(setting, id=str(setting), marks=[pytest.mark.slow] if setting.tier == "B" and number else [])
        for number, setting in enumerate(main_settings())
    ]


@pytest.fixture(scope="module", params=settings())
def neighbour(request: pytest.FixtureRequest, runner_for: AttackRunnerFor) -> Iterator[Neighbour]:
    setting: Setting = request.param
    runner = runner_for(setting)
    with set_stage(with_victim=False, secret=runner.secret) as stage:
        given = {"SECRET": runner.secret, "UNTOUCHED": SCRATCH_BYTES.encode(), "NAME": stage.mark}
        words = given | {"HAS_SOCKETS": setting.tier != "C"}
        source = "\n".join(f"{name} = {value!r}" for name, value in words.items()) + NEIGHBOUR
        order = {"do": "neighbour", "tier": setting.tier, "project": str(stage.project), "limits": {}, "source": source}
        answer = runner.ask(order)
        facts = json.loads(answer["console"])
        pid = kernel_of(answer["init"])
        assert memory_of(pid, facts["victim_address"]) == runner.secret.encode()
        yield Neighbour(runner, facts | {"victim_pid": pid})
        runner.ask({"do": "neighbour leaves"})


def kernel_of(init: int) -> int:
    """The host's number for the process that runs the cells."""
    return int(Path(f"/proc/{init}/task/{init}/children").read_text("ascii").split()[0])


def memory_of(pid: int, address: int) -> bytes:
    """What the host can read there, to know that the attacks look in the right place."""
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        memory.seek(address)
        return memory.read(64).rstrip(b"\0")


def attack_named(name: str) -> Attack:
    return next(attack for attack in ATTACKS if attack.name == name)


@pytest.mark.sampled(25, often=3)
@pytest.mark.parametrize("name", every([*BY_FILES, *BY_PROCESS, *BY_SOCKET], 3))
def test_another_notebooks_kernel_is_out_of_reach(name: str, neighbour: Neighbour) -> None:
    attack, runner = attack_named(name), neighbour.runner
    with set_stage(with_victim=False, secret=runner.secret) as stage:
        seen = runner.run(attack, stage, targets=neighbour.targets)
    judgement = judge(attack, seen)
    is_open = runner.setting.tier == "C" and attack.open_on_c
    assert is_open or isinstance(judgement, Held), (judgement, seen)
    assert neighbour.scratch() == SCRATCH_BYTES
