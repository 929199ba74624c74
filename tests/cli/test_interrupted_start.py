"""Ctrl-C before a run has begun ends the command with a word."""

from __future__ import annotations

import io
import signal
import sys
from pathlib import Path

import pytest

from cellwright.cli.main import main


class _Interrupted(io.StringIO):
    def read(self, size: int | None = -1, /) -> str:
        signal.raise_signal(signal.SIGINT)
        return super().read(size)


def test_ctrl_c_before_anything_is_begun_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CELLWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "argv", ["cellwright", "run", "-"])
    monkeypatch.setattr(sys, "stdin", _Interrupted())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert "Stopped. A run that had begun stands in `cellwright runs list`." in capsys.readouterr().err
