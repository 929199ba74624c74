"""A command through the function the installed program calls, without paying for a new interpreter each time."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellwright.cli.main import main
from cellwright.models.config.keys import key_variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command told."""

    stdout: str
    stderr: str


def run_here(
    home: Path,
    *words: str,
    code: int | None = 0,
    typed: str | bytes = "",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Said:
    """Run `cellwright WORDS…` with this state directory, in this folder, with these words on its standard input.

    A `code` of None: it may end with any.
    """
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        if folder is not None:
            patch.chdir(folder)
        patch.setattr(sys, "argv", ["cellwright", *words])
        given = typed.encode() if isinstance(typed, str) else typed
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        patch.setenv("CELLWRIGHT_HOME", str(home))
        for name in key_variables(os.environ):
            # A real key of whoever runs the tests would be handed over, and this process begun again without it.
            patch.delenv(name)
        with pytest.raises(SystemExit) as ended:
            main()
    assert code is None or (ended.value.code or 0) == code, out.getvalue() + err.getvalue()
    return Said(stdout=out.getvalue(), stderr=err.getvalue())
