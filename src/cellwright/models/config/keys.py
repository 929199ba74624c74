"""API keys: where they come from, and who has one. Values stay in here and in the gateway.

In order: handed over by the person who started a client, the system's keyring, a file in the state directory that
nobody else can read.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.remedies import Remedy, remedy

Source = Literal["environment", "keyring", "file"]
Store = Literal["keyring", "file"]

_SERVICE: Final = "cellwright"
_VARIABLES: Final[Mapping[str, str]] = {
    "OPENAI_API_KEY": "openai",
    "ANTHROPIC_API_KEY": "anthropic",
    "GOOGLE_API_KEY": "google",
    "GEMINI_API_KEY": "google",
    "GROQ_API_KEY": "groq",
    "MISTRAL_API_KEY": "mistral",
    "OLLAMA_API_KEY": "ollama",
}
_OWN_PREFIX: Final = "CELLWRIGHT_KEY_"
_KEYRING_TIMEOUT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key and where it is from."""

    value: str = field(repr=False)
    source: Source


def key_variables(environment: Iterable[str]) -> dict[str, str]:
    """Of these variables, those that hold keys, and whose."""
    own = {
        name: name.removeprefix(_OWN_PREFIX).lower().replace("_", "-")
        for name in environment
        if name.startswith(_OWN_PREFIX)
    }
    return own | {name: provider for name, provider in _VARIABLES.items() if name in set(environment)}


def variable_of(provider: str) -> str:
    """The environment variable a provider's key is looked for in."""
    usual = (name for name, owner in _VARIABLES.items() if owner == provider)
    return next(usual, _OWN_PREFIX + provider.upper().replace("-", "_"))


def key_remedy(provider: str) -> Remedy:
    """What to do about a provider that has no key."""
    return remedy("set_key", provider=provider, variable=variable_of(provider))


_INDEX: Final = "kept-keys.json"
"""Names and places of keys, no key."""


class KeyRing:
    """Every key of one person, looked up when it is needed. Blocking where a file or a keyring is read."""

    def __init__(self, home: Path, handed_over: Mapping[str, str] | None = None) -> None:
        self._file = home / "keys.json"
        self._handed_over = dict(handed_over or {})
        self._seen: dict[str, Key | None] = {}
        self._file_stamp: tuple[int, int] | None = None

    def take(self, keys: Mapping[str, str]) -> None:
        """Hold these as handed over."""
        self._handed_over |= {provider: key for provider, key in keys.items() if key}
        self._seen.clear()

    def forget(self, providers: Iterable[str] = ()) -> None:
        """Drop what these handed over, and look up stored keys anew."""
        for provider in providers:
            self._handed_over.pop(provider, None)
        self._seen.clear()

    def unseen(self, providers: Iterable[str]) -> list[str]:
        """Whose key must be looked up: `find` may take a while for these, and only for these."""
        if (stamp := file_stamp(self._file)) != self._file_stamp:
            self._file_stamp = stamp
            self._seen.clear()
        return [provider for provider in providers if provider not in self._handed_over and provider not in self._seen]

    def find(self, provider: str) -> Key | None:
        """The key for a provider; remembered until `forget` or until the file changes."""
        if provider in self._handed_over:
            return Key(value=self._handed_over[provider], source="environment")
        if provider not in self._seen:
            self._seen[provider] = self._look_up(provider)
        return self._seen[provider]

    def values(self) -> dict[str, str]:
        """What is held now, by provider: to mask it."""
        seen = {provider: key.value for provider, key in self._seen.items() if key is not None}
        return seen | self._handed_over

    def _look_up(self, provider: str) -> Key | None:
        if value := _in_time(lambda backend: backend.get_password(_SERVICE, provider)):
            return Key(value=value, source="keyring")
        if value := _read(self._file).get(provider):
            return Key(value=value, source="file")
        return None


def set_key(home: Path, provider: str, value: str, where: Store | None = None) -> Store:
    """Keep a key in the keyring, or in the file if there is no keyring. Says where it is now."""
    value = value.strip()
    if not value or not value.isprintable() or not value.isascii():
        raise UserError("That is not a key.", hint="A key is one line of plain characters.")
    kept: Store = "file"
    if where != "file" and _to_keyring(provider, value):
        kept = "keyring"
    elif where == "keyring":
        raise Unavailable("This machine has no keyring that can be used.", hint=remedy("store_key_in_file"))
    else:
        file = home / "keys.json"
        write_private(file, _read(file) | {provider: value})
    write_private(home / _INDEX, {**kept_keys(home), provider: kept})
    return kept


def kept_keys(home: Path) -> dict[str, Store]:
    """Whose keys `set_key` has kept, and where. Reads no key: for a process that must not hold one."""
    return cast("dict[str, Store]", _read(home / _INDEX))


def remove_key(home: Path, provider: str) -> tuple[Store, ...]:
    """Remove a key from wherever it is kept. Says where that was."""
    removed: list[Store] = []
    if _drop_from_keyring(provider):
        removed.append("keyring")
    file = home / "keys.json"
    kept = _read(file)
    if kept.pop(provider, None) is not None:
        write_private(file, kept)
        removed.append("file")
    if (index := kept_keys(home)).pop(provider, None) is not None:
        write_private(home / _INDEX, index)
    return tuple(removed)


def _read(file: Path) -> dict[str, str]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return {}
    with os.fdopen(descriptor, encoding="utf-8") as opened:
        status = os.fstat(descriptor)
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or status.st_uid != os.getuid():
            raise RefusedByPolicy(
                f"{str(file)!r} can be read by others, so its keys are not used.", hint=f"chmod 600 {file}"
            )
        try:
            content: Any = json.load(opened)
        except ValueError:
            content = None
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        # Not `from` what was read: its message would repeat a part of it.
        raise UserError(f"{str(file)!r} is not a file of keys.", hint="Move it away, and give the keys again.")
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


def _to_keyring(provider: str, value: str) -> bool:
    def keep(backend: Any) -> bool:
        backend.set_password(_SERVICE, provider, value)
        return backend.get_password(_SERVICE, provider) == value

    return _in_time(keep) is True


def _drop_from_keyring(provider: str) -> bool:
    def drop(backend: Any) -> bool:
        if backend.get_password(_SERVICE, provider) is None:
            return False
        backend.delete_password(_SERVICE, provider)
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
