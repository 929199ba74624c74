"""The installed program: refuses in one sentence where there is no Linux, before the commands are loaded."""

from __future__ import annotations

import sys
from typing import NoReturn

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
    from cellwright.cli.main import main as run_commands

    run_commands()
