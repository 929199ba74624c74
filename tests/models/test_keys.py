"""Keys: found where they are kept, in order, and shown nowhere."""

from __future__ import annotations

import json
import stat
from collections.abc import Generator
from pathlib import Path

import keyring
import keyring.backend
import pytest

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.models.config.keys import KeyRing, key_variables, set_key, variable_of
from cellwright.secrets import FoundSecret, forget_secret, kept_secrets

SECRET = "sk-keys-0123456789abcdef"


class InMemory(keyring.backend.KeyringBackend):
    """A keyring like any other, except that it forgets."""

    priority = 1  # pyrefly: ignore[bad-override-mutable-attribute]  # declared as a computed class property

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def a_keyring() -> Generator[InMemory]:
    before = keyring.get_keyring()
    backend = InMemory()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture
def no_keyring() -> Generator[None]:
    from keyring.backends.fail import Keyring

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    yield
    keyring.set_keyring(before)


def test_a_key_is_kept_in_the_keyring_where_there_is_one(a_keyring: InMemory, tmp_path: Path) -> None:
    assert set_key(tmp_path, "openai", f"  {SECRET}\n") == "keyring"
    assert not (tmp_path / "keys.json").exists()
    assert KeyRing(tmp_path).find("openai") == FoundSecret(value=SECRET, source="keyring")


@pytest.mark.usefixtures("no_keyring")
def test_a_key_is_kept_in_a_file_only_its_owner_can_read_where_there_is_no_keyring(tmp_path: Path) -> None:
    assert set_key(tmp_path, "openai", SECRET) == "file"
    assert set_key(tmp_path, "groq", "gsk-another-one") == "file"
    file = tmp_path / "keys.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"openai": SECRET, "groq": "gsk-another-one"}
    assert KeyRing(tmp_path).find("openai") == FoundSecret(value=SECRET, source="file")
    with pytest.raises(Unavailable):
        set_key(tmp_path, "openai", SECRET, where="keyring")


def test_what_was_handed_over_counts_before_the_keyring_and_that_before_the_file(
    a_keyring: InMemory, tmp_path: Path
) -> None:
    set_key(tmp_path, "openai", "sk-of-the-file", where="file")
    ring = KeyRing(tmp_path, {"openai": "sk-handed-over"})
    a_keyring.set_password("cellwright", "openai", "sk-of-the-keyring")
    assert ring.find("openai") == FoundSecret(value="sk-handed-over", source="environment")
    ring.forget(["openai"])
    assert ring.find("openai") == FoundSecret(value="sk-of-the-keyring", source="keyring")
    a_keyring.delete_password("cellwright", "openai")
    ring.forget()
    assert ring.find("openai") == FoundSecret(value="sk-of-the-file", source="file")


@pytest.mark.usefixtures("no_keyring")
def test_a_key_set_while_the_gateway_runs_is_seen_by_it(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    assert ring.unseen(["openai"]) == ["openai"]
    assert ring.find("openai") is None
    assert ring.unseen(["openai"]) == []
    set_key(tmp_path, "openai", SECRET)
    assert ring.unseen(["openai"]) == ["openai"]
    assert ring.find("openai") == FoundSecret(value=SECRET, source="file")


def test_a_removed_key_is_gone_from_everywhere(a_keyring: InMemory, tmp_path: Path) -> None:
    set_key(tmp_path, "openai", SECRET, where="file")
    set_key(tmp_path, "openai", SECRET)
    assert forget_secret(tmp_path, "openai") == ("keyring", "file")
    assert forget_secret(tmp_path, "openai") == ()
    assert KeyRing(tmp_path).find("openai") is None
    assert SECRET not in (tmp_path / "keys.json").read_text()


def test_whose_keys_are_kept_can_be_told_without_reading_one(a_keyring: InMemory, tmp_path: Path) -> None:
    set_key(tmp_path, "openai", SECRET)
    set_key(tmp_path, "groq", SECRET, where="file")
    (tmp_path / "keys.json").unlink()
    assert kept_secrets(tmp_path) == {"openai": "keyring", "groq": "file"}
    assert SECRET not in (tmp_path / "kept-keys.json").read_text()
    forget_secret(tmp_path, "openai")
    assert kept_secrets(tmp_path) == {"groq": "file"}


@pytest.mark.usefixtures("no_keyring")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_of_keys_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    set_key(tmp_path, "openai", SECRET)
    (tmp_path / "keys.json").chmod(mode)
    with pytest.raises(RefusedByPolicy):
        KeyRing(tmp_path).find("openai")


@pytest.mark.usefixtures("no_keyring")
def test_a_damaged_file_of_keys_is_named_and_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    for content in (f'{{"openai": "{SECRET}"', f'{{"openai": ["{SECRET}"]}}', f'"{SECRET}"'):
        file.write_text(content)
        file.chmod(0o600)
        with pytest.raises(UserError) as problem:
            KeyRing(tmp_path).find("openai")
        assert SECRET not in f"{problem.value!r}{problem.value.hint}{problem.value.__context__!r}"


@pytest.mark.parametrize("value", ["", "  ", "two\nlines", "schlüssel"])
def test_what_cannot_be_a_key_is_not_kept(tmp_path: Path, value: str) -> None:
    with pytest.raises(UserError):
        set_key(tmp_path, "openai", value, where="file")
    assert not (tmp_path / "keys.json").exists()


def test_the_variables_that_hold_keys_are_known() -> None:
    found = key_variables(["PATH", "OPENAI_API_KEY", "GEMINI_API_KEY", "CELLWRIGHT_KEY_MY_VLLM", "MY_API_KEY"])
    assert found == {"OPENAI_API_KEY": "openai", "GEMINI_API_KEY": "google", "CELLWRIGHT_KEY_MY_VLLM": "my-vllm"}
    assert variable_of("openai") == "OPENAI_API_KEY"
    assert key_variables([variable_of("my-vllm")]) == {"CELLWRIGHT_KEY_MY_VLLM": "my-vllm"}


def test_a_key_does_not_show_itself() -> None:
    assert SECRET not in repr(FoundSecret(value=SECRET, source="file"))
