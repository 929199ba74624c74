"""`python -m cellwright.models.gateway`: reads from standard input what to be, says `ready`, and is the gateway.

Started by clients only. Nothing about keys is in its arguments or its environment, and no other process of the same
person can look into its memory.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import anyio
import uvloop

from cellwright.background import listen, say_ready, sole
from cellwright.closed_process import close_to_others
from cellwright.models.client.gateway_process import GatewayLaunch, gateway_at
from cellwright.models.gateway.gateway import run_gateway
from cellwright.models.gateway.in_flight import AtGatewayCrash, carry_on


def main(at_crash: AtGatewayCrash = carry_on) -> None:
    """Leave the process that started us, close ourselves to others, and be the gateway."""
    if os.fork():
        os._exit(0)
    close_to_others()
    log = _MaskedLog()
    logging.basicConfig(level=logging.INFO, handlers=[log])
    # Their informational lines name addresses and say nothing that our own record does not.
    for chatty in ("httpx", "httpx2", "httpcore", "openai", "anthropic", "google_genai"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    given = json.load(sys.stdin)
    team_rules = Path(given["team_rules"]) if given["team_rules"] else None
    start = GatewayLaunch(**given | {"home": Path(given["home"]), "team_rules": team_rules})
    gateway = gateway_at(start.home)
    with sole(gateway) as is_sole:
        if not is_sole:
            sys.exit("another gateway has this state directory")
        listener = listen(gateway)
        try:
            anyio.run(
                lambda: run_gateway(start, listener, on_ready=say_ready, mask_log=log.use, at_crash=at_crash),
                backend_options={"loop_factory": uvloop.new_event_loop},
            )
        finally:
            # While the directory is still ours: after that it may be another gateway's socket.
            gateway.file("sock").unlink(missing_ok=True)
            listener.close()


class _MaskedLog(logging.StreamHandler[TextIO]):
    """Lines on standard error, which is a file; without any key, whatever went wrong."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self._mask: Callable[[str], str] = str
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def use(self, mask: Callable[[str], str]) -> None:
        """From now on, mask with this."""
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        return self._mask(super().format(record))


if __name__ == "__main__":
    main()
