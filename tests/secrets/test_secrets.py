"""Secrets of a person: kept where nobody else reads them, or told by a command of theirs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cellwright.errors import Unavailable
from cellwright.secrets import FoundSecret, ask_command, find_secret, forget_secret, keep_secret, kept_secrets

VALUE = "hunter2-Zx9 qq7"
ENVIRONMENT = {"PATH": os.defpath, "WHO": "ada"}


def says(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def test_a_password_is_kept_beside_keys_and_forgotten_alone(tmp_path: Path) -> None:
    keep_secret(tmp_path, "openai", "sk-1", "file")
    assert keep_secret(tmp_path, "connection/shop", VALUE, "file") == "file"
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert find_secret(tmp_path, "connection/shop") == FoundSecret(value=VALUE, source="file")
    assert kept_secrets(tmp_path) == {"openai": "file", "connection/shop": "file"}
    assert forget_secret(tmp_path, "connection/shop") == ("file",)
    assert find_secret(tmp_path, "connection/shop") is None
    assert find_secret(tmp_path, "openai") is not None


def test_a_command_tells_a_secret_in_its_first_line() -> None:
    told = ask_command(says(f"import os; print({VALUE!r}); print(os.environ['WHO'])"), ENVIRONMENT)
    assert told == FoundSecret(value=VALUE, source="command")
    assert VALUE not in repr(told)


@pytest.mark.parametrize("key", ["-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END", '{\n  "private_key": "x"\n}'])
def test_a_command_tells_all_lines_of_a_private_key_or_a_json_object(key: str) -> None:
    assert ask_command(says(f"print({key!r})"), ENVIRONMENT) == FoundSecret(value=key, source="command")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (says(f"print({VALUE!r}); raise SystemExit(3)"), "ended with 3"),
        (says("print()"), "printed nothing"),
        (says(f"print({VALUE!r} * 9999)"), "printed too much"),
        (["/no/such/command"], "could not be started"),
    ],
)
def test_a_command_that_fails_is_told_without_what_it_printed(command: list[str], why: str) -> None:
    with pytest.raises(Unavailable, match=why) as told:
        ask_command(command, ENVIRONMENT)
    assert VALUE not in f"{told.value!r} {told.value.__cause__!r} {told.value.__context__!r}"


def test_a_command_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellwright.secrets._COMMAND_SECONDS", 0.2)
    with pytest.raises(Unavailable, match="took too long"):
        ask_command(says("import time; time.sleep(60)"), ENVIRONMENT)
