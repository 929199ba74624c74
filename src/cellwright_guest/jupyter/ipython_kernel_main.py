"""ipykernel in the cage: `python ipython_kernel_main.py CONNECTION_FILE PACKAGES…`.

Its I/O thread would bind a TCP port for what subprocesses print; without one, libzmq ends the process where netlink is
forbidden, so there is none. The kernel's own sockets are files of a private folder.
"""

from __future__ import annotations

import site
import sys


def main(connection_file: str) -> None:
    """Be the kernel."""
    from ipykernel import iostream, kernelapp

    class FileOnlyThread(iostream.IOPubThread):
        def __init__(self, socket: object, pipe: bool = False, session: object = False) -> None:
            super().__init__(socket, pipe=False, session=session)

    kernelapp.IOPubThread = FileOnlyThread
    # Without the module `site`, which this interpreter does not load, there would be none.
    site.sethelper()
    kernelapp.IPKernelApp.launch_instance(
        ["-f", connection_file, "--HistoryManager.enabled=False", "--IPKernelApp.no_stdout=False", "--colors=nocolor"]
    )


if __name__ == "__main__":
    sys.path[:] = [*sys.argv[2:], *sys.path]
    main(sys.argv[1])
