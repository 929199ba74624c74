"""A kernel on a notebook's own packages: exec'd inside the notebook's cage, never outside.

`python -I -S environment_main.py SITE_PACKAGES GUEST_HOME`; the host's socket is descriptor 3. A wheel's `.pth`
file runs when its directory is added: here, where only the notebook can be harmed.
"""

from __future__ import annotations

import ctypes
import site
import socket
import sys

_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4


def main(site_packages: str, guest_home: str) -> None:
    """Become the kernel."""
    # What was kept for branches is for this process, not for the programs a notebook starts.
    ctypes.CDLL(None).prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    site.addsitedir(site_packages)
    sys.path.append(guest_home)
    from cellwright_guest.driver import Driver
    from cellwright_guest.patches.warm import warm

    warm()
    Driver().serve(socket.socket(fileno=3))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
