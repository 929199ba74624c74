"""API keys: where they come from, and who has one. Values stay in here and in the gateway.

In order: handed over by the person who started a client, the system's keyring, a file in the state directory that
nobody else can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.remedies import Remedy, remedy
from cellwright.secrets import FoundSecret, SecretPlace, file_stamp, find_secret, keep_secret, secrets_file

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


class KeyRing:
    """Every key of one person, looked up when it is needed. Blocking where a file or a keyring is read."""

    def __init__(self, home: Path, handed_over: Mapping[str, str] | None = None) -> None:
        self._home = home
        self._handed_over = dict(handed_over or {})
        self._seen: dict[str, FoundSecret | None] = {}
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
        if (stamp := file_stamp(secrets_file(self._home))) != self._file_stamp:
            self._file_stamp = stamp
            self._seen.clear()
        return [provider for provider in providers if provider not in self._handed_over and provider not in self._seen]

    def find(self, provider: str) -> FoundSecret | None:
        """The key for a provider; remembered until `forget` or until the file changes."""
        if provider in self._handed_over:
            return FoundSecret(value=self._handed_over[provider], source="environment")
        if provider not in self._seen:
            self._seen[provider] = find_secret(self._home, provider)
        return self._seen[provider]

    def values(self) -> dict[str, str]:
        """What is held now, by provider: to mask it."""
        seen = {provider: key.value for provider, key in self._seen.items() if key is not None}
        return seen | self._handed_over


def set_key(home: Path, provider: str, value: str, where: SecretPlace | None = None) -> SecretPlace:
    """Keep a key in the keyring, or in the file if there is no keyring. Says where it is now."""
    value = value.strip()
    if not value or not value.isprintable() or not value.isascii():
        raise UserError("That is not a key.", hint="A key is one line of plain characters.")
    return keep_secret(home, provider, value, where)
