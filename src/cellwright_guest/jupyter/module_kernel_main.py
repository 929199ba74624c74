"""A kernel made of ipykernel, in the cage: `python module_kernel_main.py MODULE ARGUMENTS…`, as `python -m` would.

Its I/O thread is told to open no TCP port for what subprocesses print: libzmq would end the process.
"""

from __future__ import annotations

import runpy
import sys


def main(module: str) -> None:
    """Be the kernel."""
    try:
        from ipykernel import iostream
    except ImportError:
        pass
    else:
        stock = iostream.IOPubThread.__init__

        def without_port(
            self: iostream.IOPubThread, socket: object, pipe: bool = False, session: object = False
        ) -> None:
            stock(self, socket, pipe=False, session=session)

        iostream.IOPubThread.__init__ = without_port
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    sys.path[0] = ""
    sys.argv = sys.argv[1:]
    main(sys.argv[0])
