"""Tokens: who may call the API and with which scope; kept as hashes, revoked at once. And who is connected.

The file is read again whenever it has changed: what a command revokes is revoked in the daemon.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import anyio
from pydantic import TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.notebook.atomic_write import write_atomically
from cellwright.policy.approvals import Interface, Person
from cellwright.server.http.errors import ResourceNotFound

Scope = Literal["read", "steer", "approve", "admin"]
"""read: look. steer: also start, stop and change runs and notebooks. approve: also answer what is asked. admin: also
keys, tokens and rules. Each holds those before it."""
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCaller:
    """Whoever sent a request that was let in."""

    token: str
    """The token's id, never the token."""
    person: str
    scope: Scope
    interface: Interface = "web"

    @property
    def as_person(self) -> Person:
        """As rooms below know people."""
        return Person(name=self.person, door=self.interface)

    def may(self, scope: Scope) -> bool:
        """Whether this scope is among theirs."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)


logger = logging.getLogger(__name__)

PREFIX: Final = "cw_"
SESSION_SECONDS: Final = 12 * 3600
START_SECONDS: Final = 600
_RANDOM_BYTES: Final = 32
_MOST_STARTS: Final = 100
_MOST_TOKENS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is kept of a token."""

    id: str
    name: str
    person: str
    scope: Scope
    digest: str = field(repr=False)
    """The sha256 of the token: with 32 random bytes in it, nothing slower is needed."""
    created_ms: int
    expires_ms: int | None = None
    last_used_ms: int | None = None
    """To the minute."""

    def json(self) -> dict[str, Any]:
        """What may be shown of it."""
        return {name: value for name, value in asdict(self).items() if name != "digest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A new token. The only time its secret is known."""

    token: Token
    secret: str = field(repr=False)


_FILE: Final = TypeAdapter(tuple[Token, ...])


class StartCodes:
    """Codes that let a browser in once, soon. In memory: a daemon that ends takes them along."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._ends = dict[str, float]()
        self._lock = threading.Lock()

    def make(self) -> str:
        """A new one; of too many, the oldest is forgotten."""
        code = secrets.token_urlsafe(_RANDOM_BYTES)
        with self._lock:
            while len(self._ends) >= _MOST_STARTS:
                self._ends.pop(next(iter(self._ends)))
            self._ends[_digest(code)] = self._clock() + START_SECONDS
        return code

    def use(self, code: str) -> bool:
        """Whether it counts; it does so once."""
        with self._lock:
            return self._ends.pop(_digest(code), 0) > self._clock()


class TokenStore:
    """The tokens of a state directory. Any process may change them; each sees the change with its next look."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.time) -> None:
        self.starts = StartCodes(clock)
        self._path = home / "tokens.json"
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._by_digest = dict[str, Token]()
        self._used = dict[str, int]()
        """When tokens were used, that the file does not know of yet."""

    def admit(self, secret: str) -> ApiCaller | None:
        """Who bears this token; None if it does not count (any more)."""
        token = self._look().get(_digest(secret))
        if token is None or self._is_over(token):
            return None
        self._used[token.id] = self._now_ms()
        return ApiCaller(token=token.id, person=token.person, scope=token.scope)

    def stands(self, token_id: str) -> bool:
        """Whether the token with this id still counts."""
        return any(token.id == token_id and not self._is_over(token) for token in self._look().values())

    def all(self) -> tuple[Token, ...]:
        """Every token that counts, the oldest first."""
        tokens = (token for token in self._look().values() if not self._is_over(token))
        return tuple(sorted(map(self._as_used, tokens), key=lambda token: token.created_ms))

    def create(self, *, name: str, person: str, scope: Scope, seconds: float | None) -> IssuedToken:
        """A new token that counts for so long; None: until it is revoked."""
        secret, now = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES), self._now_ms()
        token = Token(
            id=secrets.token_hex(6),
            name=name,
            person=person,
            scope=scope,
            digest=_digest(secret),
            created_ms=now,
            expires_ms=None if seconds is None else now + int(seconds * 1000),
        )
        with self._changing() as tokens:
            if len(tokens) >= _MOST_TOKENS:
                raise UserError(f"There are {len(tokens)} tokens.", hint="Revoke those that nobody uses.")
            tokens[token.digest] = token
        return IssuedToken(token=token, secret=secret)

    def start_session(self, code: str, *, person: str) -> IssuedToken | None:
        """A token for the browser that brings this start code; None if the code does not count."""
        if not self.starts.use(code):
            return None
        return self.create(name="browser", person=person, scope="admin", seconds=SESSION_SECONDS)

    def revoke(self, token_id: str) -> Token:
        """From now on it does not count. Raises `ResourceNotFound`."""
        with self._changing() as tokens:
            for digest, token in tokens.items():
                if token.id == token_id:
                    return tokens.pop(digest)
        raise ResourceNotFound(f"There is no token {token_id!r}.", hint="The list of tokens says which there are.")

    def write_use(self) -> None:
        """Put down when tokens were last used: now and then, not at every request."""
        is_news = any(
            (token.last_used_ms or 0) // 60_000 < self._used.get(token.id, 0) // 60_000
            for token in self._look().values()
        )
        if is_news:
            with self._changing():
                pass

    # ── inside ──

    def _look(self) -> dict[str, Token]:
        """By digest, as the file has them now."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return {}
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            try:
                self._by_digest = self._read()
            except UserError as problem:
                logger.error("%s Nobody is let in. %s", problem.message, problem.hint)
                self._by_digest = {}
            self._seen = seen
        return self._by_digest

    def _read(self) -> dict[str, Token]:
        try:
            return {token.digest: token for token in _FILE.validate_json(self._path.read_bytes())}
        except FileNotFoundError:
            return {}
        except (ValidationError, OSError) as problem:
            raise UserError(
                f"The file of tokens cannot be read: {type(problem).__name__}.",
                hint=f"Remove {str(self._path)!r}: every token then has to be made again.",
            ) from problem

    @contextmanager
    def _changing(self) -> Generator[dict[str, Token]]:
        """What is in the file, to be changed; written when the block ends without an error. One process at a time."""
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with self._lock, os.fdopen(lock):
            fcntl.flock(lock, fcntl.LOCK_EX)
            tokens = {digest: token for digest, token in self._read().items() if not self._is_over(token)}
            yield tokens
            used = tuple(map(self._as_used, tokens.values()))
            self._path.touch(mode=0o600)
            write_atomically(self._path, _FILE.dump_json(used, indent=1))

    def _as_used(self, token: Token) -> Token:
        used = max(token.last_used_ms or 0, self._used.get(token.id, 0))
        return replace(token, last_used_ms=used // 60_000 * 60_000) if used else token

    def _is_over(self, token: Token) -> bool:
        return token.expires_ms is not None and token.expires_ms <= self._now_ms()

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


# ── who is connected: what keeps a daemon awake, and ends when a token is revoked or the server closes ──


@dataclass(slots=True, kw_only=True, eq=False)
class ActiveRequest:
    """A request that is being answered."""

    token: str
    """The id of its token."""
    is_stream: bool = False
    """Whether its answer goes on until somebody leaves."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class ActiveRequests:
    """Every request of somebody known that is being answered."""

    def __init__(self) -> None:
        self._visits = set[ActiveRequest]()
        self._is_closing = False

    @property
    def count(self) -> int:
        """How many there are. A page that is open has at least one: its stream of events."""
        return len(self._visits)

    @contextmanager
    def visiting(self, token: str) -> Generator[ActiveRequest]:
        """One of them, while the block lasts; the block is left early if it is ended."""
        visit = ActiveRequest(token=token)
        self._visits.add(visit)
        try:
            with visit.scope:
                yield visit
        finally:
            self._visits.discard(visit)

    def is_stream(self, visit: ActiveRequest) -> None:
        """This one will not end by itself."""
        visit.is_stream = True
        if self._is_closing:
            visit.scope.cancel()

    def end_unless(self, stands: Callable[[str], bool]) -> None:
        """End those whose token does not count any more."""
        tokens = {visit.token for visit in self._visits}
        over = {token for token in tokens if not stands(token)}
        for visit in self._visits:
            if visit.token in over:
                visit.scope.cancel()

    def end_streams(self) -> None:
        """End what would never end; the rest is answered."""
        self._is_closing = True
        for visit in self._visits:
            if visit.is_stream:
                visit.scope.cancel()
