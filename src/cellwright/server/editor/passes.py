"""Who may look into which notebook: a code that works once becomes a cookie. Nothing of marimo's is in either."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_CODE_SECONDS: Final = 120
_PASS_SECONDS: Final = 12 * 3600
_MAX_PASSES: Final = 1_000
_MOST_PAGES: Final = 200


@dataclass(slots=True, kw_only=True)
class EditorPass:
    """One browser that was let in."""

    person: str
    notebooks: set[str] = field(default_factory=set[str])
    """Keys of the notebooks it was let into."""
    pages: dict[str, None] = field(default_factory=dict[str, None])
    """marimo's session ids that this browser has chosen: nobody else may speak as them."""
    until: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Code:
    person: str
    notebook: str
    until: float


class EditorPasses:
    """Codes and passes, in memory only: they end with the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[bytes, _Code] = {}
        self._passes: dict[bytes, EditorPass] = {}

    def issue(self, notebook: str, *, person: str) -> str:
        """A code that lets one browser into this notebook, once and within two minutes."""
        self._forget_old()
        code = secrets.token_urlsafe(24)
        self._codes[_digest(code)] = _Code(person=person, notebook=notebook, until=self._clock() + _CODE_SECONDS)
        return code

    def redeem(self, code: str, cookie: str | None) -> tuple[str, str] | None:
        """The cookie to set and the notebook it opens; None for a code that is no more, or never was.

        A browser that has a pass of the same person's keeps it.
        """
        found = self._codes.pop(_digest(code), None)
        if found is None or found.until < self._clock():
            return None
        held = self.find(cookie)
        if held is None or cookie is None or held.person != found.person:
            cookie = secrets.token_urlsafe(32)
            held = EditorPass(person=found.person, until=self._clock() + _PASS_SECONDS)
            self._passes[_digest(cookie)] = held
        held.notebooks.add(found.notebook)
        return cookie, found.notebook

    def find(self, cookie: str | None) -> EditorPass | None:
        """Whose pass this is, if it is one; being used, it lasts on."""
        held = self._passes.get(_digest(cookie)) if cookie else None
        now = self._clock()
        if held is None or held.until < now:
            return None
        held.until = now + _PASS_SECONDS
        return held

    def may_speak_as(self, held: EditorPass, page: str) -> bool:
        """Whether this browser may use this session id; the first to use one keeps it."""
        if page in held.pages:
            return True
        if any(page in other.pages for other in self._passes.values()):
            return False
        held.pages[page] = None
        if len(held.pages) > _MOST_PAGES:
            del held.pages[next(iter(held.pages))]
        return True

    def close_notebook(self, notebook: str) -> None:
        """Nobody has anything to look at there any more."""
        self._codes = {key: code for key, code in self._codes.items() if code.notebook != notebook}
        for held in self._passes.values():
            held.notebooks.discard(notebook)

    def withdraw(self, person: str) -> None:
        """Let this person in no more."""
        self._codes = {key: code for key, code in self._codes.items() if code.person != person}
        self._passes = {key: held for key, held in self._passes.items() if held.person != person}

    def _forget_old(self) -> None:
        now = self._clock()
        codes = [(key, code) for key, code in self._codes.items() if code.until >= now]
        valid = [(key, held) for key, held in self._passes.items() if held.until >= now]
        passes = sorted(valid, key=lambda entry: entry[1].until)
        self._codes, self._passes = dict(codes[-_MAX_PASSES:]), dict(passes[-_MAX_PASSES:])


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
