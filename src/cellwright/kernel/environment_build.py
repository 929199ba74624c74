"""Building an environment: an empty prefix, uv's packages, the interpreter last, then one rename into its place."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import UserError
from cellwright.kernel.environment_cache import clear
from cellwright.kernel.environment_plan import Environment, Places, Plan, environment_at
from cellwright.kernel.interpreters import Interpreter
from cellwright.kernel.script_header import bounded
from cellwright.kernel.uv_process import Progress, UvSettings, run_uv


async def build(places: Places, plan: Plan, uv: UvSettings, lock: int, tell: Progress) -> Environment:
    """A new environment, in its place whole or not at all; only for the sole builder, who holds `lock`."""
    try:
        await anyio.to_thread.run_sync(_prepare, places, plan)
        tell(f"Installing {len(plan.requirements)} requirements: {bounded(', '.join(plan.requirements), 200)}")
        await run_uv(places, plan, uv, lock, tell)
        await anyio.to_thread.run_sync(_finish, places, plan)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(places.workshop, ignore_errors=True))
    return environment_at(places, plan)


def _prepare(places: Places, plan: Plan) -> None:
    clear(places)
    prefix = places.workshop / "venv"
    prefix.mkdir(parents=True)
    # A kernel may run under another user, whatever umask we have.
    for folder in (places.workshop, prefix):
        folder.chmod(0o755)
    if (libraries := plan.interpreter.platlibdir) != "lib":
        (prefix / libraries).symlink_to("lib")
    (places.workshop / "requirements.txt").write_text("\n".join(plan.requirements) + "\n")


def _finish(places: Places, plan: Plan) -> None:
    """Makes the prefix a virtual environment and puts it in its place in one step."""
    prefix = places.workshop / "venv"
    try:
        _add_interpreter(prefix, plan.interpreter)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise UserError(
            f"A package of the notebook puts something else where {Path(str(error.filename)).name!r} belongs.",
            hint="Remove the package that is not a Python library from the notebook's header.",
        ) from error
    for script in (prefix / "bin").iterdir():
        _make_relocatable(script, plan.interpreter.executable)
    record = {"requirements": plan.requirements, "python": plan.python, "platform": plan.interpreter.platform}
    (places.workshop / "environment.json").write_text(json.dumps(record, indent=1) + "\n")
    (places.workshop / "last-used").touch()
    places.workshop.rename(places.finished)


def _add_interpreter(prefix: Path, interpreter: Interpreter) -> None:
    # Whatever wheels put in these places is unlinked, never written to: its other name is in uv's cache.
    (prefix / ".lock").unlink(missing_ok=True)
    links = prefix / "bin"
    if links.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "a link", str(links))
    links.mkdir(exist_ok=True)
    links.chmod(0o755)
    for name in ("python", "python3", f"python{interpreter.short_version}"):
        (links / name).unlink(missing_ok=True)
        (links / name).symlink_to(interpreter.executable)
    settings = prefix / "pyvenv.cfg"
    settings.unlink(missing_ok=True)
    settings.write_text(
        f"home = {interpreter.executable.parent}\ninclude-system-site-packages = false\n"
        f"version = {interpreter.version}\n"
    )
    settings.chmod(0o644)


def _make_relocatable(script: Path, interpreter: Path) -> None:
    """Lets a console script find `python` beside itself: uv wrote the base interpreter, which lacks the packages."""
    first = f"#!{interpreter}\n".encode()
    if script.is_symlink() or not script.is_file():
        return
    content = script.read_bytes()
    if content.startswith(first):
        beside = b'#!/bin/sh\n\'\'\'exec\' "$(dirname -- "$(realpath -- "$0")")/python" "$0" "$@"\n\' \'\'\'\n'
        script.unlink()
        script.write_bytes(beside + content.removeprefix(first))
        script.chmod(0o755)
