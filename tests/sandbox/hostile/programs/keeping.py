"""Attacks on the moment when a notebook's changes are carried over into the project: judged by what is there then."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from .prelude import LIBC, Targets, first_success, refuse

MB = 1 << 20
AT_FDCWD, EXCHANGE = -100, 2


def leave_links_out_of_project(targets: Targets) -> str:
    """By an absolute path, by climbing, and by climbing behind a name that another link gives."""
    project = Path(targets["project"])
    (project / "deep" / "er").mkdir(parents=True)
    (project / "straight").symlink_to(targets["home_secret"])
    (project / "deep" / "climbing").symlink_to("../../outside")
    (project / "deep" / "er" / "here").symlink_to("..")
    (project / "hidden_climb").symlink_to("deep/er/here/../../outside")
    return "left links out of the project"


def put_link_where_directory_was(targets: Targets) -> str:
    """A careless merge then writes through it."""
    project = Path(targets["project"])
    (project / "results").mkdir()
    (project / "results" / "ledger.txt").write_text("changed", "utf-8")
    (project / "results").rename(project / "old_results")
    (project / "results").symlink_to(targets["outside"])
    return "a link stands where a directory was"


def swap_links_while_files_are_kept(targets: Targets) -> str:
    """A process left behind exchanges a directory with a link to the secret's, again and again."""
    project, name = Path(targets["project"]), Path(targets["home_secret"]).name
    (project / "swapped").mkdir()
    (project / "swapped" / name).write_text("harmless", "utf-8")
    (project / "link").symlink_to(targets["home"])
    one, other = os.fsencode(project / "swapped"), os.fsencode(project / "link")
    if os.fork() == 0:
        for _ in range(2_000_000):
            LIBC.renameat2(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE)
        os._exit(0)
    return "swapping"


def leave_repository_in_subdirectory(targets: Targets) -> str:
    """Git runs the hooks of whatever repository a person steps into."""
    for name in (".git", ".Git"):
        hooks = Path(targets["project"], f"library{name}", name, "hooks")
        hooks.mkdir(parents=True)
        (hooks / "post-checkout").write_text("#!/bin/sh\n", "utf-8")
    return "left repositories with hooks"


def rewrite_own_notebook(targets: Targets) -> str:
    """Whoever rewrites the notebook rewrites what the person believes was run."""
    notebook = Path(targets["project"], "notebook.py")
    other = Path(targets["project"], "other.py")
    other.write_text("# another\n", "utf-8")

    def write() -> str:
        notebook.write_text("# another\n", "utf-8")
        return "wrote"

    def rename() -> str:
        other.rename(notebook)
        return "renamed"

    def replace() -> str:
        notebook.unlink()
        shutil.copyfile(other, notebook)
        return "replaced"

    return attempt_each([write, replace, rename])


def leave_sparse_files(targets: Targets) -> str:
    """Holes cost nothing in here, and their full size to whoever copies them."""
    for number in range(4):
        with Path(targets["project"], f"sparse{number}").open("wb") as file:
            file.truncate(targets["limits"]["disk_mb"] * MB - MB)
    return "left files full of holes"


def leave_one_file_under_many_names(targets: Targets) -> str:
    """Counted once in here, and once for each name by whoever copies them."""
    project = Path(targets["project"])
    with (project / "one").open("wb") as file:
        for _ in range(targets["limits"]["disk_mb"] * 3 // 4):
            file.write(b"x" * MB)
    for number in range(3):
        (project / f"name{number}").hardlink_to(project / "one")
    return "left one file under four names"


def attempt_each(attempts: "list[Callable[[], str]]") -> str:
    """All of them, also after one seemed to work: it may have changed only a private copy."""
    done: list[str] = []
    for attempt in attempts:
        try:
            done.append(first_success([attempt]))
        except OSError as error:
            done.append(str(error))
    if not done:
        raise refuse("nothing to try")
    return "; ".join(done)
