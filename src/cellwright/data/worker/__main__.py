"""`python -I -m cellwright.data.worker FD`: speaks with the broker over the inherited socket FD, until that is closed.

Started by the broker only. The credential comes over the socket: it is in no argument and no environment, and no other
process of the same person can look into this one's memory.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys

from cellwright.closed_process import close_to_others
from cellwright.data.worker.conversation import Conversation


def main() -> None:
    """Close ourselves to others, and answer."""
    close_to_others()
    # Ctrl-C in the terminal that started the broker is not meant for us: the broker's end is ours.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What drivers log may name addresses: nothing of theirs is written.
    logging.disable(logging.CRITICAL)
    connection = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    Conversation(connection).hold()
    # Threads of drivers are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
