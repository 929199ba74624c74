"""Hand our standard streams to the warm process, which forks a gateway or a caller around them.

`warm_start.py SOCKET PROGRAM ARGUMENT…`; stays until what was forked has ended, or has forked away itself.
"""

import json
import socket
import sys

with socket.socket(socket.AF_UNIX) as warm:
    warm.connect(sys.argv[1])
    socket.send_fds(warm, [json.dumps(sys.argv[2:]).encode()], [0, 1, 2])
    sys.exit(int(warm.makefile().read() or 1))
