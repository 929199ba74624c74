"""`python -I -m cellwright.data.web_worker FD`: serves exchanges that the broker hands over by the inherited socket FD.

Started by the broker only. The credential comes over the socket: it is in no argument and no environment, and no other
process of the same person can look into this one's memory.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys

import anyio
from anyio.abc import UNIXSocketStream

from cellwright.closed_process import close_to_others
from cellwright.data.web_worker.conversation import WebConversation


def main() -> None:
    """Close ourselves to others, and serve."""
    close_to_others()
    # Ctrl-C in the terminal that started the broker is not meant for us: the broker's end is ours.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What clients of HTTP log may name addresses and headers: nothing of theirs is written.
    logging.disable(logging.CRITICAL)
    connection = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    connection.setblocking(False)
    anyio.run(_serve, connection)


async def _serve(connection: socket.socket) -> None:
    async with await UNIXSocketStream.from_socket(connection) as stream:
        await WebConversation(stream).hold()


if __name__ == "__main__":
    main()
