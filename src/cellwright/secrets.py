"""Secrets that a person gave once: in the system's keyring, else in a file that nobody else can read.

Model keys and passwords of connections alike. What is kept, and where, can be listed without reading any; a value stays
with whoever asked for it. A person's own command (`op`, `vault`, `aws`) may tell one instead of keeping it here.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.remedies import remedy

SecretPlace = Literal["keyring", "file"]
SecretSource = Literal["environment", "keyring", "file", "command"]
_SERVICE: Final = "cellwright"
_FILE: Final = "keys.json"
_INDEX: Final = "kept-keys.json"
"""Names and places, no value."""
_KEYRING_TIMEOUT_SECONDS: Final = 5.0
_COMMAND_SECONDS: Final = 10.0
_COMMAND_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSecret:
    """A secret and where it is from."""

    value: str = field(repr=False)
    source: SecretSource


def secrets_file(home: Path) -> Path:
    """Where those are that no keyring holds."""
    return home / _FILE


def find_secret(home: Path, name: str) -> FoundSecret | None:
    """The secret kept under this name. Blocking: a file or a keyring is read."""
    if value := _in_time(lambda backend: backend.get_password(_SERVICE, name)):
        return FoundSecret(value=value, source="keyring")
    if value := _read(secrets_file(home)).get(name):
        return FoundSecret(value=value, source="file")
    return None


def keep_secret(home: Path, name: str, value: str, where: SecretPlace | None = None) -> SecretPlace:
    """Keep it in the keyring, or in the file if there is no keyring. Says where it is now."""
    kept: SecretPlace = "file"
    if where != "file" and _to_keyring(name, value):
        kept = "keyring"
    elif where == "keyring":
        raise Unavailable("This machine has no keyring that can be used.", hint=remedy("store_key_in_file"))
    else:
        file = secrets_file(home)
        write_private(file, _read(file) | {name: value})
    write_private(home / _INDEX, {**kept_secrets(home), name: kept})
    return kept


def kept_secrets(home: Path) -> dict[str, SecretPlace]:
    """What is kept, and where. Reads no secret: for a process that must not hold one."""
    return cast("dict[str, SecretPlace]", _read(home / _INDEX))


def secrets_stamp(home: Path) -> tuple[object, object]:
    """Another one whenever a secret was kept or forgotten."""
    return file_stamp(secrets_file(home)), file_stamp(home / _INDEX)


def forget_secret(home: Path, name: str) -> tuple[SecretPlace, ...]:
    """Remove it from wherever it is kept. Says where that was."""
    removed: list[SecretPlace] = []
    if _drop_from_keyring(name):
        removed.append("keyring")
    file = secrets_file(home)
    kept = _read(file)
    if kept.pop(name, None) is not None:
        write_private(file, kept)
        removed.append("file")
    if (index := kept_secrets(home)).pop(name, None) is not None:
        write_private(home / _INDEX, index)
    return tuple(removed)


def ask_command(command: Sequence[str], environment: Mapping[str, str]) -> FoundSecret:
    """What a person's own command prints: its first line, or all of a private key or JSON.

    Raises `Unavailable`, never with what it printed.
    """
    name = command[0]
    try:
        with tempfile.TemporaryFile() as out:
            ran = subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
                env=dict(environment),
                timeout=_COMMAND_SECONDS,
                check=False,
            )
            out.seek(0)
            said = out.read(_COMMAND_BYTES + 1)
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        why = "took too long" if isinstance(problem, subprocess.TimeoutExpired) else "could not be started"
        # Not `from` the problem, which has its output and all words of the command.
        raise Unavailable(f"The command {name!r}, which tells a secret, {why}.") from None
    if ran.returncode or len(said) > _COMMAND_BYTES:
        why = f"ended with {ran.returncode}" if ran.returncode else "printed too much"
        raise Unavailable(f"The command {name!r}, which tells a secret, {why}.", hint="Try it in a terminal.")
    text = said.decode("utf-8", errors="replace").strip()
    value = text if text.startswith(("-----BEGIN ", "{")) else text.partition("\n")[0].strip()
    if not value:
        raise Unavailable(f"The command {name!r}, which tells a secret, printed nothing.", hint="Try it in a terminal.")
    return FoundSecret(value=value, source="command")


def _read(file: Path) -> dict[str, str]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return {}
    with os.fdopen(descriptor, encoding="utf-8") as opened:
        status = os.fstat(descriptor)
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or status.st_uid != os.getuid():
            raise RefusedByPolicy(
                f"{str(file)!r} can be read by others, so what is in it is not used.", hint=f"chmod 600 {file}"
            )
        try:
            content: Any = json.load(opened)
        except ValueError:
            content = None
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        # Not `from` what was read: its message would repeat a part of it.
        raise UserError(f"{str(file)!r} is not a file of secrets.", hint="Move it away, and give them again.")
    return cast("dict[str, str]", content)


def write_private(file: Path, content: Mapping[str, object]) -> None:
    """The content as JSON, whole or not at all, for nobody else to read."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".keys-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(dict(content), opened)
            opened.flush()
            os.fsync(opened.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def file_stamp(file: Path) -> tuple[int, int] | None:
    """Another one whenever the file was replaced or written; None if there is no file."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ino


def _to_keyring(name: str, value: str) -> bool:
    def keep(backend: Any) -> bool:
        backend.set_password(_SERVICE, name, value)
        return backend.get_password(_SERVICE, name) == value

    return _in_time(keep) is True


def _drop_from_keyring(name: str) -> bool:
    def drop(backend: Any) -> bool:
        if backend.get_password(_SERVICE, name) is None:
            return False
        backend.delete_password(_SERVICE, name)
        return True

    return _in_time(drop) is True


def _in_time(use: Callable[[Any], Any]) -> Any:
    """What the keyring answers, or None: there may be none, it may be locked, it may wait for ever for a password."""
    answers: list[Any] = []

    def ask() -> None:
        # Backends raise whatever their system's library raises; none of it is ours to tell apart.
        with suppress(Exception):
            import keyring
            import keyring.backends.fail

            backend = keyring.get_keyring()
            if not isinstance(backend, keyring.backends.fail.Keyring):
                answers.append(use(backend))

    thread = threading.Thread(target=ask, daemon=True, name="keyring")
    thread.start()
    thread.join(_KEYRING_TIMEOUT_SECONDS)
    return answers[0] if answers else None
