"""What has to be settled around the zygote's forks: threads of the linear algebra, random numbers, marimo's log file,
and what every interpreter offers.

The zygote loads BLAS with one thread, because it must fork; a kernel gets the machine's. A log file's descriptor would
have somebody else's number in a kernel, the socket to the host for one: it is closed before anything is forked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import site
import sys
from typing import Any


def restore_threads(count: int) -> None:
    """The zygote loads BLAS with one thread so that it can fork; a kernel gets the machine's."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.pop(variable, None)
    for set_threads in _blas_setters:
        set_threads(count)


_blas_setters: list[Any] = []
_BLAS_SETTERS = ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "openblas_set_num_threads")


def find_blas() -> None:
    """Remember, in the zygote, how to set the threads of the BLAS that numpy loaded."""
    import ctypes

    with contextlib.suppress(OSError):
        with open("/proc/self/maps") as file:  # noqa: PTH123
            loaded = {line.split()[-1] for line in file if "openblas" in line}
        for path in sorted(loaded):
            library = ctypes.CDLL(path)
            for name in _BLAS_SETTERS:
                if hasattr(library, name):
                    _blas_setters.append(getattr(library, name))
                    break


def close_log_file() -> None:
    """Let marimo log to no file."""
    marimo = logging.getLogger("marimo")
    for handler in [each for each in marimo.handlers if isinstance(each, logging.FileHandler)]:
        marimo.removeHandler(handler)
        handler.close()


def add_site_builtins() -> None:
    """Offer `help`, `exit` and `quit`: people call them, and no module `site` ran here that brings them."""
    site.sethelper()
    site.setquit()


_seeded_in = 0


def reseed_numpy() -> None:
    """Once per process: fork copies numpy's global generator, and two kernels would draw the same numbers."""
    global _seeded_in
    numpy = sys.modules.get("numpy")
    if numpy is not None and _seeded_in != os.getpid():
        numpy.random.seed()
    _seeded_in = os.getpid()
