"""A client: hands over its keys, then says what it sees of itself. `key_client.py HOME COMMAND ARGUMENT…`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from cellwright.models.client.gateway_process import GatewayLaunch, hand_over_keys


def main() -> None:
    home = Path(sys.argv[1])
    with (home / "starts").open("a") as starts:
        starts.write("once\n")
    launch = GatewayLaunch(home=home, command=tuple(json.loads(sys.argv[2])))
    hand_over_keys(os.environ, home, sys.orig_argv, warn=lambda text: print(text, file=sys.stderr), launch=launch)  # noqa: T201
    seen = {
        "arguments": sys.argv[3:],
        "stdin": sys.stdin.read(),
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "environ": Path("/proc/self/environ").read_text(),
        "starts": len((home / "starts").read_text().splitlines()),
    }
    sys.stdout.write(json.dumps(seen))
    sys.exit(7)


main()
