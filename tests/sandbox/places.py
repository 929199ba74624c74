"""The places people run Cellwright in, each made for real, and the table in `docs/sandbox.md` that is found there.

`python -m tests.sandbox.places` writes the table anew; needs root and runc.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from tests.sandbox.containers import DOCKER_CAPABILITIES, PODMAN_CAPABILITIES, REPOSITORY, Container

DOCUMENT: Final = REPOSITORY / "docs" / "sandbox.md"
BEGIN: Final = "<!-- tiers by place: written by `python -m tests.sandbox.places` -->"
END: Final = "<!-- end of tiers by place -->"
COMMAND: Final = str(Path(sys.prefix) / "bin" / "cellwright")
_PROBE: Final = f"""
import sys, json, dataclasses
sys.path.insert(0, {str(REPOSITORY / "src")!r})
from cellwright.sandbox.host import tiers
print(json.dumps(dataclasses.asdict(tiers.probe())))
"""
_PODMAN: Final = Container(profile="podman", capabilities=PODMAN_CAPABILITIES)
_RESTRICTED: Final = Container(
    profile="docker", capabilities=(), is_root_read_only=True, may_gain_privileges=False
)  # fmt: skip
_ROOT_OF_NAMESPACE: Final = Container(uid=0, is_proc_masked=False, ids=65_536)

PLACES: Final[dict[str, Container]] = {
    "a user of the machine": Container(is_proc_masked=False),
    "Docker's defaults, as root": Container(uid=0, profile="docker"),
    "Docker's defaults, as a user": Container(profile="docker"),
    "Docker, `seccomp=unconfined`": Container(),
    "Docker, the calls below allowed": Container(profile="docker and ours"),
    "Docker, the calls below allowed, `systempaths=unconfined`": Container(
        profile="docker and ours", is_proc_masked=False
    ),
    "Docker's defaults, as root, `--cap-drop ALL`": Container(uid=0, profile="docker", capabilities=()),
    "Podman's defaults": _PODMAN,
    "Podman, `unmask=ALL`": replace(_PODMAN, is_proc_masked=False),
    "Podman without root, `unmask=ALL`": replace(_PODMAN, uid=0, ids=65_536, is_proc_masked=False),
    "Kubernetes, restricted": _RESTRICTED,
    "Kubernetes, restricted, without a `/tmp`": replace(_RESTRICTED, has_tmp=False),
    "Kubernetes, `hostUsers: false`, `procMount: Unmasked`, the calls below allowed": replace(
        _RESTRICTED, profile="docker and ours", is_proc_masked=False, ids=65_536
    ),
    "root of a user namespace with one id": replace(_ROOT_OF_NAMESPACE, ids=1),
    "user namespaces switched off": replace(
        _ROOT_OF_NAMESPACE, capabilities=(*DOCKER_CAPABILITIES, "SYS_RESOURCE"), may_have_namespaces=False
    ),
    "Ubuntu 24.04 (namespaces without rights)": Container(profile="no mounts", is_proc_masked=False),
    "no Landlock, no namespaces (as in gVisor)": Container(profile="no walls"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What one place gives."""

    place: str
    tier: str
    reason: str
    """Why it is not the next better tier."""
    cure: str

    def __str__(self) -> str:
        return f"| {self.place} | {self.tier} | {self.reason} | {self.cure} |"


def probed(place: str) -> dict[str, Any]:
    """What is found there by trying, as `cellwright doctor` tells it."""
    found = PLACES[place].run([sys.executable, "-I", "-S", "-c", _PROBE], cwd="/")
    return cast("dict[str, Any]", json.loads(found.stdout))


def run(place: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One of our commands in a checkout with its environment, as somebody who may change neither."""
    container = replace(PLACES[place], environment={"CELLWRIGHT_HOME": "/dev/shm/home", "LANG": "C.UTF-8"})
    return container.run([COMMAND, *arguments], cwd=str(REPOSITORY))


def row(place: str, report: dict[str, Any]) -> Row:
    """The row of the table that was found by trying."""
    nearest = report["obstacles"][-1]
    return Row(place, report["tier"], nearest["reason"], nearest["cure"])


def table_in(text: str) -> list[str]:
    """The rows of the table in a document."""
    _, _, rest = text.partition(BEGIN)
    return [line for line in rest.partition(END)[0].splitlines() if line.startswith("| ")][1:]


def main() -> None:
    """Look at every place, and write the table."""
    rows = [str(row(place, probed(place))) for place in PLACES]
    head = ["", "| place | tier | why no better one | what would change that |", "|---|---|---|---|"]
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text("\n".join([before + BEGIN, *head, *rows, "", END]) + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
