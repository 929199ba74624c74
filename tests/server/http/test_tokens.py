"""Tokens: shown once, kept as hashes, over when they are over, revoked everywhere at once."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from dirty_equals import IsPositiveInt, IsStr
from inline_snapshot import snapshot

from cellwright.server.http.auth.tokens import SESSION_SECONDS, START_SECONDS, ApiCaller, TokenStore
from cellwright.server.http.errors import ResourceNotFound
from tests.cli.in_process import run_here


class Clock:
    """A time that passes when told."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_token_is_kept_as_its_hash_in_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path)
    created = tokens.create(name="ci", person="ada", scope="steer", seconds=60)
    assert created.secret.startswith("cw_")
    assert len(created.secret) >= 46
    assert tokens.admit(created.secret) == ApiCaller(token=created.token.id, person="ada", scope="steer")
    for path in tmp_path.iterdir():
        assert created.secret not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert created.secret not in repr(created)
    assert created.token.digest not in repr(created)


@pytest.mark.parametrize("wrong", ["", "cw_", "cw_x", "\ud800", "x" * 100_000, " {secret}", "{secret}x", "{digest}"])
def test_nothing_but_the_token_itself_counts(tmp_path: Path, wrong: str) -> None:
    tokens = TokenStore(tmp_path)
    assert tokens.admit(wrong) is None
    created = tokens.create(name="ci", person="ada", scope="admin", seconds=None)
    assert tokens.admit(wrong.format(secret=created.secret, digest=created.token.digest)) is None


def test_a_token_is_over_at_its_time_and_is_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    tokens = TokenStore(tmp_path, clock)
    short = tokens.create(name="short", person="ada", scope="read", seconds=60)
    long = tokens.create(name="long", person="ada", scope="read", seconds=None)
    clock.now += 59
    assert tokens.admit(short.secret)
    clock.now += 1
    assert tokens.admit(short.secret) is None
    assert not tokens.stands(short.token.id)
    assert [token.name for token in tokens.all()] == ["long"]
    tokens.create(name="next", person="ada", scope="read", seconds=60)
    assert "short" not in (tmp_path / "tokens.json").read_text()
    assert tokens.admit(long.secret)


def test_what_one_process_revokes_does_not_count_in_another(tmp_path: Path) -> None:
    daemon, command = TokenStore(tmp_path), TokenStore(tmp_path)
    created = command.create(name="ci", person="ada", scope="read", seconds=None)
    assert daemon.admit(created.secret)
    command.revoke(created.token.id)
    assert daemon.admit(created.secret) is None
    assert not daemon.stands(created.token.id)
    with pytest.raises(ResourceNotFound, match="no token"):
        daemon.revoke(created.token.id)


def test_when_a_token_was_used_is_put_down_to_the_minute(tmp_path: Path) -> None:
    clock = Clock()
    tokens = TokenStore(tmp_path, clock)
    created = tokens.create(name="ci", person="ada", scope="read", seconds=None)
    tokens.write_use()
    assert TokenStore(tmp_path, clock).all()[0].last_used_ms is None
    clock.now += 90
    tokens.admit(created.secret)
    tokens.write_use()
    before = (tmp_path / "tokens.json").stat().st_ino
    used = TokenStore(tmp_path, clock).all()[0].last_used_ms
    assert used == 1_000_090_000 // 60_000 * 60_000
    tokens.admit(created.secret)
    tokens.write_use()
    assert (tmp_path / "tokens.json").stat().st_ino == before


def test_a_start_code_becomes_one_session_soon_or_never(tmp_path: Path) -> None:
    clock = Clock()
    tokens = TokenStore(tmp_path, clock)
    code, late = tokens.starts.make(), tokens.starts.make()
    session = tokens.start_session(code, person="ada")
    assert session is not None
    assert (session.token.scope, session.token.person) == ("admin", "ada")
    assert session.token.expires_ms == int((clock.now + SESSION_SECONDS) * 1000)
    assert tokens.start_session(code, person="ada") is None
    assert tokens.start_session("guess", person="ada") is None
    clock.now += START_SECONDS
    assert tokens.start_session(late, person="ada") is None
    assert [token.name for token in tokens.all()] == ["browser"]


def test_of_too_many_start_codes_the_oldest_are_forgotten(tmp_path: Path) -> None:
    starts = TokenStore(tmp_path).starts
    codes = [starts.make() for _ in range(101)]
    assert [starts.use(code) for code in (codes[0], codes[1], codes[-1])] == [False, True, True]


def test_a_file_that_makes_no_sense_lets_nobody_in(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path)
    created = tokens.create(name="ci", person="ada", scope="read", seconds=None)
    for text in ("", "{", "[1]", '[{"id": "x"}]'):
        (tmp_path / "tokens.json").write_text(text)
        assert tokens.admit(created.secret) is None


def test_tokens_are_made_listed_and_revoked_by_commands(tmp_path: Path) -> None:
    created = json.loads(
        run_here(tmp_path, "serve", "tokens", "create", "ci", "--scope", "steer", "--person", "ada", "--json").stdout
    )
    assert created == snapshot(
        {
            "token": IsStr(regex=r"cw_[\w-]{43}"),
            "id": IsStr(regex=r"[0-9a-f]{12}"),
            "name": "ci",
            "person": "ada",
            "scope": "steer",
            "created_ms": IsPositiveInt(),
            "expires_ms": IsPositiveInt(),
            "last_used_ms": None,
        }
    )
    tokens = TokenStore(tmp_path)
    assert tokens.admit(created["token"]) == ApiCaller(token=created["id"], person="ada", scope="steer")
    for words in (("tokens", "--json"), ("tokens", "list", "--json")):
        listed = json.loads(run_here(tmp_path, "serve", *words).stdout)["tokens"]
        assert [each["id"] for each in listed] == [created["id"]]
    shown = run_here(tmp_path, "serve", "tokens").stdout
    assert created["id"] in shown
    assert created["token"] not in shown
    assert "scope" in run_here(tmp_path, "serve", "tokens", "create", "x", "--scope", "root", code=2).stderr
    assert "not count any more" in run_here(tmp_path, "serve", "tokens", "revoke", created["id"]).stderr
    assert tokens.admit(created["token"]) is None
    assert "no token" in run_here(tmp_path, "serve", "tokens", "revoke", created["id"], code=2).stderr
    assert "no tokens" in run_here(tmp_path, "serve", "tokens").stderr
    forever = run_here(tmp_path, "serve", "tokens", "create", "robot", "--days", "0").stdout.strip()
    assert tokens.admit(forever)
    assert tokens.all()[0].expires_ms is None
