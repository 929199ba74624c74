"""Become a plain user, with the interpreter still reachable, and run a command.

`python -I -S as_user_program.py UID SRC WITHOUT_NAMESPACES READABLE... -- COMMAND...`; needs root.
"""

# It runs before and between execs, on plain paths.
# ruff: noqa: PTH103, PTH116, PTH123

from __future__ import annotations

import os
import sys


def make_reachable(paths: list[str]) -> None:
    """In a mount namespace of our own, put open directories over those that only root may enter."""
    from cellwright.sandbox.linux import syscalls

    closed = {path: directory for path in paths if (directory := first_closed_directory(path))}
    # All before any: what lies over a directory also hides the other paths below it.
    trees = {path: syscalls.open_tree(path) for path in closed}
    for directory in sorted(set(closed.values())):
        syscalls.mount("tmpfs", directory, "tmpfs", 0, "size=64k,mode=755")
    for path, tree in sorted(trees.items()):
        os.makedirs(path, exist_ok=True)
        syscalls.attach(tree, path)
        os.close(tree)


def first_closed_directory(path: str) -> str | None:
    parts = path.strip("/").split("/")
    directories = ["/" + "/".join(parts[:end]) for end in range(1, len(parts))]
    return next((directory for directory in directories if not os.stat(directory).st_mode & 0o001), None)


def give_up_namespaces(uid: int) -> None:
    """A user namespace in which no further one can be made, as on machines that forbid them."""
    from cellwright.sandbox.linux import syscalls

    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    for name, value in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{uid} {uid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(value)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")


def main() -> None:
    uid, source, without_namespaces = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "yes"
    sys.path.insert(0, source)
    end = sys.argv.index("--")
    readable, command = sys.argv[4:end], sys.argv[end + 1 :]
    from cellwright.sandbox.linux import syscalls

    if os.geteuid() == 0:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        make_reachable(readable)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if without_namespaces:
        give_up_namespaces(uid)
    os.chdir("/")
    os.execve(command[0], command, {})


if __name__ == "__main__":
    main()
