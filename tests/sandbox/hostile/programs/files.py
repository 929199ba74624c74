"""Attacks on files: reading, writing and changing what is not the notebook's."""

import ctypes
import os
import shutil
from pathlib import Path

from .prelude import LIBC, Targets, expose, first_success, refuse

# ── reading ──


def read_home_credentials(targets: Targets) -> str:
    return expose(Path(targets["home_secret"]).read_bytes(), targets)


def read_through_symlink_in_project(targets: Targets) -> str:
    return expose(Path(targets["project"], "innocent.csv").read_bytes(), targets)


def read_through_new_symlink(targets: Targets) -> str:
    link = Path(targets["project"], "made_by_attack.csv")
    link.symlink_to(targets["home_secret"])
    return expose(link.read_bytes(), targets)


def read_through_symlink_to_directory(targets: Targets) -> str:
    link = Path(targets["project"], "up")
    link.symlink_to("/")
    return expose((link / targets["home_secret"].lstrip("/")).read_bytes(), targets)


def read_through_hard_link(targets: Targets) -> str:
    link = Path(targets["project"], "hard.csv")
    link.hardlink_to(targets["home_secret"])
    return expose(link.read_bytes(), targets)


def read_by_climbing_from_project(targets: Targets) -> str:
    climb = Path(targets["project"], *[".."] * 30, targets["home_secret"].lstrip("/"))
    return expose(climb.read_bytes(), targets)


def read_host_file_of_root(targets: Targets) -> str:
    return expose(Path(targets["host_file"]).read_bytes(), targets)


def list_home_directory(targets: Targets) -> str:
    return f"listed {os.listdir(targets['home'])}"  # noqa: PTH208 listdir keeps the program to one syscall


def stat_host_file(targets: Targets) -> str:
    return f"{Path(targets['home_secret']).stat().st_size} bytes long"


def watch_home_directory(targets: Targets) -> str:
    """Told of every name that is made or opened there, without opening anything."""
    watcher = LIBC.inotify_init1(0o4000)
    if watcher < 0 or LIBC.inotify_add_watch(watcher, targets["home"].encode(), 0xFFF) < 0:
        raise refuse(f"inotify: {os.strerror(ctypes.get_errno())}")
    return "watches the home directory"


def read_hidden_env_file(targets: Targets) -> str:
    return expose(Path(targets["project"], ".env").read_bytes(), targets)


def read_hidden_private_key(targets: Targets) -> str:
    return expose(Path(targets["project"], "keys", "id_rsa").read_bytes(), targets)


def read_hidden_credentials(targets: Targets) -> str:
    return expose(Path(targets["project"], "credentials.json").read_bytes(), targets)


def unhide_by_renaming_file(targets: Targets) -> str:
    hidden, bared = Path(targets["project"], ".env"), Path(targets["project"], "bared.txt")
    hidden.rename(bared)
    return expose(bared.read_bytes(), targets)


def unhide_by_renaming_parent(targets: Targets) -> str:
    keys, bared = Path(targets["project"], "keys"), Path(targets["project"], "bared")
    keys.rename(bared)
    return expose((bared / "id_rsa").read_bytes(), targets)


def unhide_by_hard_link(targets: Targets) -> str:
    link = Path(targets["project"], "linked.txt")
    link.hardlink_to(Path(targets["project"], ".env"))
    return expose(link.read_bytes(), targets)


def unhide_by_deleting_mask(targets: Targets) -> str:
    """Where hiding is a whiteout or an empty file on top, deleting the top must not uncover what is below."""
    hidden = Path(targets["project"], "credentials.json")

    def as_it_is() -> str:
        return expose(hidden.read_bytes(), targets)

    def uncovered() -> str:
        hidden.unlink()
        return expose(hidden.read_bytes(), targets)

    return first_success([as_it_is, uncovered])


# ── writing: judged by what is on the host afterwards ──


def write_outside_project(targets: Targets) -> str:
    Path(targets["outside"], "planted.txt").write_text("planted", "utf-8")
    return "wrote planted.txt"


def overwrite_outside_file(targets: Targets) -> str:
    Path(targets["outside"], "ledger.txt").write_text("changed", "utf-8")
    return "overwrote ledger.txt"


def truncate_outside_file(targets: Targets) -> str:
    os.truncate(Path(targets["outside"], "ledger.txt"), 0)
    return "truncated ledger.txt"


def delete_outside_file(targets: Targets) -> str:
    Path(targets["outside"], "ledger.txt").unlink()
    return "deleted ledger.txt"


def move_outside_file_into_project(targets: Targets) -> str:
    Path(targets["outside"], "ledger.txt").rename(Path(targets["project"], "ledger.txt"))
    return "moved ledger.txt"


def change_mode_of_outside_file(targets: Targets) -> str:
    Path(targets["outside"], "ledger.txt").chmod(0o777)
    return "changed the mode of ledger.txt"


def change_times_of_outside_file(targets: Targets) -> str:
    os.utime(Path(targets["outside"], "ledger.txt"), (1, 1))
    return "changed the times of ledger.txt"


def write_through_symlink_in_project(targets: Targets) -> str:
    """Through the link while the cell runs; else leave a directory in its place for a careless merge to follow."""
    link = Path(targets["project"], "reports")

    def through() -> str:
        (link / "planted.txt").write_text("planted", "utf-8")
        return "wrote through the link"

    def instead() -> str:
        link.unlink()
        link.mkdir()
        (link / "planted.txt").write_text("planted", "utf-8")
        return "left a directory where the link was"

    return first_success([through, instead])


def plant_setuid_file(targets: Targets) -> str:
    planted = Path(targets["project"], "planted_setuid")
    shutil.copyfile("/usr/bin/id", planted)
    planted.chmod(0o6755)
    return "left a setuid file in the project"


def write_site_packages(targets: Targets) -> str:
    def plant(directory: str) -> str:
        Path(directory, "cellwright_hostile.pth").write_text("# planted\n", "utf-8")
        return f"planted a .pth file in {directory}"

    return first_success([lambda place=place: plant(place) for place in targets["site_packages"]])


def write_git_hook(targets: Targets) -> str:
    hook = Path(targets["project"], ".git", "hooks", "pre-commit")
    hook.write_text("#!/bin/sh\n", "utf-8")
    return "planted a git hook"


def replace_git_directory(targets: Targets) -> str:
    git = Path(targets["project"], ".git")
    git.rename(Path(targets["project"], "old_git"))
    (git / "hooks").mkdir(parents=True)
    (git / "hooks" / "pre-commit").write_text("#!/bin/sh\n", "utf-8")
    return "put another .git in place"


def write_project_rules(targets: Targets) -> str:
    Path(targets["project"], ".cellwright", "rules.toml").write_text("allow = ['*']\n", "utf-8")
    return "rewrote the project's rules"


# ── descriptors that came with the process ──


def use_inherited_directory(targets: Targets) -> str:
    attempts = [
        lambda fd=fd, up=up: expose(read_at(fd, "../" * up + targets["home_secret"].lstrip("/")), targets)
        for fd in open_descriptors()
        for up in range(12)
    ]
    return first_success(attempts)


def use_inherited_file(targets: Targets) -> str:
    return first_success([lambda fd=fd: expose(read_whole(fd), targets) for fd in open_descriptors()])


def open_descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208


def read_at(directory: int, path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY, dir_fd=directory)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def read_whole(fd: int) -> bytes:
    if not os.path.isfile(f"/proc/self/fd/{fd}"):  # noqa: PTH113 a magic link, not a path
        raise refuse("not a regular file")
    return os.pread(fd, 4096, 0)
