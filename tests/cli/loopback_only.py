"""A program where there is nothing but loopback: `loopback_only.py PROGRAM WORD…`. It takes this process's place."""

from __future__ import annotations

import os
import sys

from tests.models.alone_with_a_model import leave_the_network

if __name__ == "__main__":
    leave_the_network()
    os.execv(sys.argv[1], sys.argv[1:])
