"""Where there is no Linux: one sentence, before anything is loaded or made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import cellwright
from cellwright.cli import entry
from cellwright.errors import UserError
from cellwright.platforms import check_platform


def test_linux_is_not_refused() -> None:
    check_platform("linux")


@pytest.mark.parametrize(
    ("system", "sentence"),
    [
        (
            "darwin",
            "Cellwright contains notebooks with Linux, which macOS is not: "
            "use a Linux virtual machine or a Linux container.",
        ),
        (
            "win32",
            "Cellwright contains notebooks with Linux, which Windows is not: "
            "use WSL2, a Linux virtual machine or a Linux container.",
        ),
        (
            "freebsd14",
            "Cellwright contains notebooks with Linux, which freebsd14 is not: "
            "use a Linux virtual machine or a Linux container.",
        ),
    ],
)
def test_any_other_system_is_refused_in_one_sentence(system: str, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        check_platform(system)
    assert (refused.value.message, refused.value.hint) == (sentence, "")


@pytest.mark.parametrize("words", [("run", "Why?"), ("notebook", "run", "a.py"), ("serve",), ("doctor", "--json"), ()])
@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_every_command_is_refused_before_anything_is_made(
    system: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = tmp_path / "state"
    monkeypatch.setenv("CELLWRIGHT_HOME", str(home))
    monkeypatch.setattr(sys, "argv", ["cellwright", *words])
    # What the commands need cannot be loaded there, so it must not be asked for: `None` makes an import fail.
    monkeypatch.setitem(sys.modules, "cellwright.cli.main", None)
    with pytest.raises(SystemExit) as ended:
        entry.main(system)
    said = capsys.readouterr()
    assert (ended.value.code, said.out, home.exists()) == (2, "", False)
    assert said.err.startswith("error: Cellwright contains notebooks with Linux, which ")
    assert said.err.count("\n") == 1


def test_the_python_interface_is_refused_before_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "cellwright.app", None)
    with pytest.raises(UserError, match="which macOS is not"):
        _ = cellwright.open_notebook
