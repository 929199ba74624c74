"""A kernel on a notebook's own packages: exec'd inside the notebook's cage, never outside.

`python -I -S environment_main.py SITE_PACKAGES GUEST_HOME`; the host's socket is descriptor 3. A wheel's `.pth`
file runs when its directory is added: here, where only the notebook can be harmed.
"""

from __future__ import annotations

import site
import socket
import sys


def main(site_packages: str, guest_home: str) -> None:
    """Become the kernel."""
    site.addsitedir(site_packages)
    sys.path.append(guest_home)
    from cellwright_guest import patches
    from cellwright_guest.driver import Driver

    patches.warm()
    Driver().serve(socket.socket(fileno=3))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
