"""A process with everything imported that forks gateways and callers, so that no test pays the imports again.

One thread only: forking is safe. What it forks is real: its own memory, its own streams, its own death.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable

PROGRAMS = {
    "gateway": ("dying_gateway", "start"),
    "asker": ("asker", "start"),
    "memory_reader": ("memory_reader", "start"),
    "open": ("memory_reader", "start_open"),
    "gateway-of-somebody": ("memory_reader", "start_gateway"),
}
"""What can be started: modules beside this one, and their functions."""


FIRST_CALL = (
    "anyio._backends._asyncio",
    "genai_prices.data",
    "importlib_metadata._adapters",
    "jiter",
    "openai.resources.chat.chat",
    "openai.resources.chat.completions.completions",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai_compatible",
    "uvicorn",
    "zipp",
    # Those of other systems look for their libraries with a compiler, those of this one import half of cryptography.
    *(f"keyring.backends.{name}" for name in ("SecretService", "Windows", "chainer", "kwallet", "libsecret", "macOS")),
)


def programs() -> dict[str, Callable[[list[str]], None]]:
    """What can be started, with what a first call would load."""
    for name in FIRST_CALL:
        # Some packages are needed by older Pythons alone.
        if importlib.util.find_spec(name.split(".")[0]) is not None:
            importlib.import_module(name)
    # It loads its own parts when they are named; a gateway of somebody else may not read where we lie.
    anyio = importlib.import_module("anyio")
    for name in dir(anyio):
        getattr(anyio, name)
    # What is built when it is first used.
    importlib.import_module("pydantic_ai.messages").ModelMessagesTypeAdapter.rebuild()
    importlib.import_module("openai.types.chat").ChatCompletionChunk.model_rebuild()
    return {
        name: getattr(importlib.import_module(f"tests.models.{module}"), start)
        for name, (module, start) in PROGRAMS.items()
    }


def main(path: str) -> None:
    known = programs()
    # A fork that leaves all this alone need not copy it.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                child(connection, known)
            connection.close()


def child(connection: socket.socket, known: dict[str, Callable[[list[str]], None]]) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        request, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        name, *arguments = json.loads(request)
        os.setsid()
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        # A gateway forks away from here; its starter must not wait for it.
        if name.startswith("gateway"):
            connection.sendall(b"0")
            connection.close()
        known[name](arguments)
        code = 0
        if not name.startswith("gateway"):
            connection.sendall(b"0")
    except BaseException:  # noqa: BLE001 - nothing may return into the parent's loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
