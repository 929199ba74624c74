"""The provider server as a process of its own: `python -m cellwright.testing.provider_server --port 0`.

It writes one line of JSON with its address, then serves until it is ended. Its books are at `/_charges` and
`/_requests`; they outlive every client.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import UserError
from cellwright.testing.scripts import ScriptFile, read_script
from cellwright.testing.server import ProviderServer


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve as the command line says; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m cellwright.testing.provider_server")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--script", type=Path, help="a JSON file with what is to be answered")
    parser.add_argument("--honour-idempotency-keys", action="store_true", help="charge a repeated key once")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when the starter does")
    options = parser.parse_args(arguments)
    try:
        script = ScriptFile() if options.script is None else read_script(options.script.read_bytes())
    except (UserError, OSError) as error:
        parser.error(str(error))
    try:
        anyio.run(_serve, options.port, script, options.honour_idempotency_keys, options.until_stdin_closes)
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(port: int, script: ScriptFile, honours_idempotency_keys: bool, until_stdin_closes: bool) -> None:
    async with ProviderServer.open(port=port, honours_idempotency_keys=honours_idempotency_keys) as server:
        server.script_file(script)
        sys.stdout.write(json.dumps({"address": server.address, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        if until_stdin_closes:
            await anyio.to_thread.run_sync(sys.stdin.buffer.read, abandon_on_cancel=True)
        else:
            await anyio.sleep_forever()


if __name__ == "__main__":
    raise SystemExit(main())
