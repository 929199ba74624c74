"""A kernel made of ipykernel, in the cage: `python module_kernel_main.py MODULE ARGUMENTS…`, as `python -m` would.

Its I/O thread is told to open no TCP port for what subprocesses print: libzmq would end the process.
"""

from __future__ import annotations

import runpy
import sys


def main(module: str) -> None:
    """Be the kernel."""
    try:
        from ipykernel import iostream, kernelapp
    except ImportError:
        # Not made of it.
        pass
    else:

        class FileOnlyThread(iostream.IOPubThread):
            def __init__(self, socket: object, pipe: bool = False, session: object = False) -> None:
                super().__init__(socket, pipe=False, session=session)

        kernelapp.IOPubThread = FileOnlyThread
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    sys.path[0] = ""
    sys.argv = sys.argv[1:]
    main(sys.argv[0])
