"""Real containers of every kind people run Cellwright in: OCI bundles that are made here and run by runc.

A container's files are the machine's own, read-only, with a `/tmp` of its own. Its seccomp profile is the one Podman
ships, which Debian packages; Docker's is made of it by the rules in which the two differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, cast

REPOSITORY: Final = Path(__file__).parents[2]
USER: Final = 54399
"""Somebody without an entry in passwd."""
_PODMAN_PROFILE: Final = Path("/usr/share/containers/seccomp.json")
_ARCHITECTURES: Final = {"x86_64": ("amd64", "SCMP_ARCH_X86_64"), "aarch64": ("arm64", "SCMP_ARCH_AARCH64")}
DOCKER_CAPABILITIES: Final = (
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
    "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE",
)  # fmt: skip
PODMAN_CAPABILITIES: Final = tuple(set(DOCKER_CAPABILITIES) - {"MKNOD", "NET_RAW", "AUDIT_WRITE"})
_NAMESPACE_CALLS: Final = {
    "unshare", "mount", "umount", "umount2", "setns", "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "sethostname", "setdomainname", "clone", "clone3", "chroot",
}  # fmt: skip
_CAGE_CALLS: Final = (
    "clone", "unshare", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
    "mount_setattr", "sethostname", "chroot",
)  # fmt: skip
"""What `docs/sandbox.md` tells people to add to Docker's profile."""
_NEW_NAMESPACES: Final = 0x7E020000
_NEW_USER_NAMESPACE: Final = 0x10000000
_MASKED: Final = (
    "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
)  # fmt: skip
_READ_ONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
FIRST_ID: Final = 200_000
"""Who root of a container with ids of its own is out here."""
_PATIENCE_SECONDS: Final = 600

Profile = Literal[
    "none", "docker", "docker and ours", "podman", "no mounts", "no walls"
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One kind of container."""

    uid: int = USER
    capabilities: tuple[str, ...] = DOCKER_CAPABILITIES
    profile: Profile = "none"
    is_proc_masked: bool = True
    ids: int | None = None
    """How many user ids its own user namespace has; None: it has none of its own."""
    is_root_read_only: bool = False
    may_gain_privileges: bool = True
    has_tmp: bool = True
    may_have_namespaces: bool = True
    """False: the limit for further user namespaces is set to none; only for root of a user namespace."""
    work: Path | None = None
    """A directory that it may change, at the same place."""
    volume: tuple[Path, Path] | None = None
    """Another one, and where within `work` it is mounted, as `-v data:/app/data` does."""
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, command: Sequence[str], *, cwd: str = "/tmp") -> subprocess.CompletedProcess[str]:
        """What the command says in there."""
        if not self.may_have_namespaces:
            command = ["/bin/sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh", *command]
        with _bundle(self, command, cwd) as bundle:
            return subprocess.run(
                [*_runc(bundle), "run", "--bundle", str(bundle), bundle.name],
                capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip


@contextmanager
def _bundle(container: Container, command: Sequence[str], cwd: str) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="cellwright-container-") as name:
        bundle = Path(name)
        root = bundle / "rootfs"
        root.mkdir()
        bundle.chmod(0o755)
        # Its root makes the mount points, and may be somebody else out here.
        os.chown(root, *[FIRST_ID if container.ids else 0] * 2)
        for link in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if (machine := Path("/") / link).is_symlink():
                (root / link).symlink_to(machine.readlink())
        (bundle / "config.json").write_text(json.dumps(_config(container, command, cwd)))
        try:
            yield bundle
        finally:
            # What outlasts its time outlasts runc too.
            subprocess.run([*_runc(bundle), "delete", "--force", bundle.name], capture_output=True, check=False)


def _runc(bundle: Path) -> list[str]:
    return ["runc", "--root", str(bundle / "state")]


def _config(container: Container, command: Sequence[str], cwd: str) -> dict[str, Any]:
    capabilities = [f"CAP_{name}" for name in container.capabilities]
    # Who is not root has none of them until it runs a set-user-id program.
    effective = capabilities if container.uid == 0 else []
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": container.uid, "gid": container.uid},
            "args": list(command),
            "env": [f"{name}={value}" for name, value in {"PATH": "/usr/bin:/bin", **container.environment}.items()],
            "cwd": cwd,
            "noNewPrivileges": not container.may_gain_privileges,
            "capabilities": {"bounding": capabilities, "effective": effective, "permitted": effective},
        },
        "root": {"path": "rootfs", "readonly": container.is_root_read_only},
        "hostname": "container",
        "mounts": _mounts(container),
        "linux": _linux(container),
    }


def _mounts(container: Container) -> list[dict[str, Any]]:
    def fresh(place: str, kind: str, *options: str) -> dict[str, Any]:
        return {"destination": place, "type": kind, "source": kind, "options": ["nosuid", *options]}

    def shown(place: str, mode: str = "ro") -> dict[str, Any]:
        return {"destination": place, "type": "bind", "source": place, "options": ["rbind", mode]}

    # The environment lies in the checkout as a rule, and is no volume in it then.
    places = [sys.base_prefix, str(REPOSITORY), sys.prefix]
    software = [
        place
        for place in dict.fromkeys(places)
        if not any(Path(place).is_relative_to(other) for other in places if other != place)
    ]
    return [
        fresh("/proc", "proc", "noexec", "nodev"),
        fresh("/dev", "tmpfs", "mode=755", "size=64k"),
        fresh("/dev/shm", "tmpfs", "mode=1777", "size=64m"),
        *([fresh("/tmp", "tmpfs", "mode=1777")] if container.has_tmp else []),
        # A user namespace may not mount a fresh one without a network namespace of its own.
        shown("/sys") if container.ids else fresh("/sys", "sysfs", "noexec", "nodev", "ro"),
        *(shown(place) for place in ("/usr", "/etc", *software)),
        *([shown(str(container.work), "rw")] if container.work else []),
        *([_volume(*container.volume)] if container.volume else []),
    ]


def _volume(source: Path, place: Path) -> dict[str, Any]:
    return {"destination": str(place), "type": "bind", "source": str(source), "options": ["rbind", "rw"]}


def _linux(container: Container) -> dict[str, Any]:
    kinds = ["pid", "ipc", "uts", "mount", *(["user"] if container.ids else [])]
    linux: dict[str, Any] = {"namespaces": [{"type": kind} for kind in kinds], "resources": {}}
    if container.ids:
        ids = [{"containerID": 0, "hostID": FIRST_ID, "size": container.ids}]
        linux |= {"uidMappings": ids, "gidMappings": ids}
    if container.is_proc_masked:
        linux |= {"maskedPaths": list(_MASKED), "readonlyPaths": list(_READ_ONLY)}
    if container.profile != "none":
        linux["seccomp"] = _profile(container)
    return linux


def _profile(container: Container) -> dict[str, Any]:
    match container.profile:
        case "podman":
            return _shipped(container.capabilities)
        case "docker":
            return _dockers(container.capabilities)
        case "docker and ours":
            return _dockers(container.capabilities, also=_CAGE_CALLS)
        case "no mounts":
            # As AppArmor on Ubuntu: the namespace is made, and has no rights in it.
            names = ["mount", "open_tree", "move_mount", "fsopen", "mount_setattr", "pivot_root"]
            return _refusing([{"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": 13}])
        case "no walls":
            landlock = {"names": ["landlock_create_ruleset"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}
            flag = {
                "index": 0, "value": _NEW_USER_NAMESPACE, "valueTwo": _NEW_USER_NAMESPACE, "op": "SCMP_CMP_MASKED_EQ",
            }  # fmt: skip
            clone = {"names": ["clone", "unshare"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "args": [flag]}
            return _refusing([clone, landlock])
        case "none":
            raise AssertionError("there is no profile for none")


def _refusing(rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": _architectures(), "syscalls": rules}


def _architectures() -> list[str]:
    return [_ARCHITECTURES[os.uname().machine][1]]


@cache
def _podmans() -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(_PODMAN_PROFILE.read_text()))


def _shipped(capabilities: tuple[str, ...]) -> dict[str, Any]:
    """Podman's profile for one set of capabilities, as an engine writes it into a bundle."""
    here, have = _ARCHITECTURES[os.uname().machine][0], {f"CAP_{name}" for name in capabilities}
    rules: list[dict[str, Any]] = []
    for rule in _podmans()["syscalls"]:
        needed, excluded = rule.get("includes") or {}, rule.get("excludes") or {}
        if here not in needed.get("arches", [here]) or not have >= set(needed.get("caps", [])):
            continue
        if have & set(excluded.get("caps", [])):
            continue
        names = ("names", "action", "args", "errnoRet")
        rules.append({name: rule[name] for name in names if rule.get(name) is not None})
    shipped = _podmans()
    return {
        "defaultAction": shipped["defaultAction"], "defaultErrnoRet": shipped["defaultErrnoRet"],
        "architectures": _architectures(), "syscalls": rules,
    }  # fmt: skip


def _dockers(capabilities: tuple[str, ...], also: Sequence[str] = ()) -> dict[str, Any]:
    """Docker's: no call that makes or fills a namespace without CAP_SYS_ADMIN, and EPERM for what is unknown."""
    profile = _shipped(capabilities)
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in _NAMESPACE_CALLS]
    plain_clone = {"index": 0, "value": _NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    added: list[dict[str, Any]] = [{"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]
    if "clone" not in also:
        added.append({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [plain_clone]})
    if also:
        added.append({"names": list(also), "action": "SCMP_ACT_ALLOW"})
    rules = [rule for rule in profile["syscalls"] if rule["names"]] + added
    return profile | {"defaultErrnoRet": 1, "syscalls": rules}
