"""The installed program: refuses in one sentence where there is no Linux, before the commands are loaded."""

from __future__ import annotations

import sys
from typing import Literal, NoReturn

from cellwright.errors import UserError
from cellwright.platforms import check_platform


def main(system: str = sys.platform) -> NoReturn:
    """Run the command line."""
    try:
        check_platform(system)
    except UserError as refusal:
        # Not by `render`: what it loads is not needed for one sentence.
        sys.stderr.write(f"error: {refusal.message}\n")
        sys.exit(2)
    match sys.argv[1:]:
        case ["mcp" | "acp" as protocol]:
            _serve_at_once(protocol, "")
        case ["mcp" | "acp" as protocol, "--folder", folder]:
            _serve_at_once(protocol, folder)
        case _:
            pass
    from cellwright.cli.main import main as run_commands

    run_commands()


def _serve_at_once(protocol: Literal["mcp", "acp"], folder: str) -> None:
    """End as `cellwright mcp` or `acp` does, if a daemon is there and no key is to be handed over; else return."""
    from pathlib import Path

    from cellwright.cli.daemon_pump import has_keys, pump
    from cellwright.errors import CellwrightError
    from cellwright.settings import Settings

    settings = Settings.read()
    if has_keys(settings):
        return
    try:
        if pump(settings, protocol, str(Path(folder).resolve())):
            sys.exit(0)
    except CellwrightError as problem:
        sys.stderr.write(f"error: {problem.message}\nhint: {problem.hint}\n")
        sys.exit(1)
