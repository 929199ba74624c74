"""The program in the cage that runs a notebook as Jupyter does: its cells on descriptor 3, what they did back.

`python -I -S run_main.py PACKAGES…`. Client and kernel speak over sockets that are files of the cage's own `/tmp`; the
host hears of the end of it, as JSON.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import ast
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from queue import Empty
from typing import Any, Final

import msgspec

from cellwright_guest.jupyter.ipynb import read_cells
from cellwright_guest.jupyter.magics import without_installs
from cellwright_guest.jupyter.records import (
    MOST_TEXT,
    JupyterCell,
    JupyterOutput,
    OriginalCell,
    OriginalRun,
    ShownValue,
)

_DESCRIPTOR: Final = 3
_CHUNK_BYTES: Final = 1 << 16
_KERNEL: Final = Path(__file__).with_name("ipython_kernel_main.py")
_DIGEST: Final = Path(__file__).with_name("value_digest.py")
_START_SECONDS: Final = 60.0
_TICK_SECONDS: Final = 0.5
_MOST_OUTPUT: Final = 8 << 20
"""Bytes of one cell's outputs that are kept."""
_OF_IPYTHON: Final = re.compile(r"_+|_i+|_i?\d+|_[od]h|_exit_code|In|Out|cellwright_\w+|CELLWRIGHT_\w+")
_HOOK: Final = """
def cellwright_hook():
    import subprocess

    shell = get_ipython()
    formatter = shell.display_formatter
    stock = formatter.format

    def told(value, *more, **words):
        cellwright_shown(cellwright_cell[0], value)
        return stock(value, *more, **words)

    def system(command):
        # IPython's own wants a terminal, and there is none in a cage.
        ran = subprocess.run(shell.var_expand(command, depth=1), shell=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        shell.user_ns["_exit_code"] = ran.returncode
        print(ran.stdout, end="")

    formatter.format = told
    shell.system = shell.system_piped = system


cellwright_cell = [0]
cellwright_hook()
"""


class OriginalRunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    notebook: str
    seconds: float
    keep_outputs: bool = False


def main() -> None:
    """Answer, and end."""
    data = bytearray()
    while chunk := os.read(_DESCRIPTOR, _CHUNK_BYTES):
        data += chunk
    request = msgspec.json.decode(bytes(data), type=OriginalRunRequest)
    left = memoryview(msgspec.json.encode(_run(request, sys.argv[1:])))
    while left:
        left = left[os.write(_DESCRIPTOR, left) :]


def _run(request: OriginalRunRequest, packages: list[str]) -> OriginalRun:
    from jupyter_client.blocking.client import BlockingKernelClient
    from jupyter_client.connect import write_connection_file

    sources, _ = read_cells(request.notebook)
    with tempfile.TemporaryDirectory(prefix="jupyter-", dir="/tmp") as folder:
        file, _ = write_connection_file(f"{folder}/kernel.json", ip=f"{folder}/socket", transport="ipc")
        environment = {**os.environ, "IPYTHONDIR": f"{folder}/ipython", "JUPYTER_RUNTIME_DIR": folder}
        kernel = subprocess.Popen(
            [sys.executable, "-B", "-S", str(_KERNEL), file, *packages],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        client = BlockingKernelClient(connection_file=file)
        client.load_connection_file()
        client.start_channels(hb=False)
        try:
            return _Conversation(client, kernel, time.monotonic() + request.seconds, request.keep_outputs).all(sources)
        finally:
            client.stop_channels()
            kernel.kill()
            kernel.wait()


class _Conversation:
    def __init__(self, client: Any, kernel: subprocess.Popen[bytes], until: float, keeps: bool) -> None:
        self._client = client
        self._kernel = kernel
        self._until = until
        self._keeps = keeps

    def all(self, sources: tuple[JupyterCell, ...]) -> OriginalRun:
        try:
            self._client.wait_for_ready(timeout=_START_SECONDS)
        except RuntimeError:
            self._kernel.kill()
            words = (self._kernel.stderr.read() if self._kernel.stderr else b"").decode("utf-8", "replace")
            return OriginalRun(end=f"ipykernel did not start: {words[-2000:]}")
        self._silently(_DIGEST.read_text() + _HOOK)
        before = self._names()
        cells, end = list[OriginalCell](), ""
        for source in sources:
            if source.kind != "code" or not source.source.strip():
                continue
            if end:
                cells.append(OriginalCell(number=source.number, status="lost"))
                continue
            self._silently(f"cellwright_cell[0] = {source.number}")
            cell = self._cell(source)
            cells.append(cell)
            if cell.status == "lost":
                end = cell.error
        if end:
            return OriginalRun(cells=tuple(cells), end=end)
        return self._told(cells, before)

    def _names(self) -> set[str]:
        return set(json.loads(self._asked("__import__('json').dumps([name for name in globals()])") or "[]"))

    def _told(self, cells: list[OriginalCell], before: set[str]) -> OriginalRun:
        self._silently("cellwright_cell[0] = 0")
        new = sorted(name for name in self._names() - before if not _OF_IPYTHON.fullmatch(name))
        told = json.loads(self._asked(f"cellwright_tell({new!r})") or '{"shown": {}, "values": {}}')
        shown = {int(cell): tuple(_value(one) for one in seen) for cell, seen in told["shown"].items()}
        return OriginalRun(
            cells=tuple(msgspec.structs.replace(cell, shown=shown.get(cell.number, ())) for cell in cells),
            variables={name: _value(one) for name, one in told["values"].items()},
            kernel="ipykernel",
        )

    def _silently(self, code: str) -> None:
        self._reply(self._client.execute(code, silent=True, store_history=False))

    def _asked(self, expression: str) -> str:
        identity = self._client.execute("", silent=True, store_history=False, user_expressions={"told": expression})
        reply = self._reply(identity)
        told = (reply or {}).get("content", {}).get("user_expressions", {}).get("told", {})
        text = told.get("data", {}).get("text/plain", "''") if told.get("status") == "ok" else "''"
        return str(ast.literal_eval(text))

    def _reply(self, identity: str) -> dict[str, Any] | None:
        while time.monotonic() < self._until and self._kernel.poll() is None:
            try:
                reply = self._client.get_shell_msg(timeout=_TICK_SECONDS)
            except Empty:
                continue
            if reply["parent_header"].get("msg_id") == identity:
                return reply
        return None

    def _cell(self, source: JupyterCell) -> OriginalCell:
        identity = self._client.execute(without_installs(source.source), allow_stdin=False, stop_on_error=False)
        printed, pictures, error, outputs, room = list[str](), 0, "", list[JupyterOutput](), _MOST_OUTPUT
        while True:
            if time.monotonic() > self._until:
                return OriginalCell(number=source.number, status="lost", error="there was no more time")
            try:
                message = self._client.get_iopub_msg(timeout=_TICK_SECONDS)
            except Empty:
                if self._kernel.poll() is not None:
                    return OriginalCell(
                        number=source.number, status="lost", error=f"the kernel ended: exit {self._kernel.returncode}"
                    )
                continue
            if message["parent_header"].get("msg_id") != identity:
                continue
            content = message["content"]
            if self._keeps and (output := _output(message["msg_type"], content)) is not None:
                room -= len(msgspec.json.encode(output))
                outputs += [output] if room > 0 else []
            match message["msg_type"]:
                case "stream" if content["name"] == "stdout" and sum(map(len, printed)) < MOST_TEXT:
                    printed.append(content["text"][:MOST_TEXT])
                case "display_data" | "execute_result" | "update_display_data":
                    pictures += any(kind.startswith("image/") for kind in content["data"])
                case "error":
                    error = f"{content['ename']}: {content['evalue']}"[:1_000]
                case "status" if content["execution_state"] == "idle":
                    break
                case _:
                    pass
        self._reply(identity)
        return OriginalCell(
            number=source.number,
            status="failed" if error else "ok",
            printed="".join(printed)[:MOST_TEXT],
            error=error,
            pictures=pictures,
            outputs=tuple(outputs),
        )


def _output(kind: str, content: dict[str, Any]) -> JupyterOutput | None:
    match kind:
        case "stream":
            return JupyterOutput(kind=kind, name=content["name"], text=content["text"])
        case "display_data" | "execute_result":
            return JupyterOutput(kind=kind, data=content["data"])
        case "error":
            trace = tuple(str(line) for line in content["traceback"])
            return JupyterOutput(kind=kind, name=content["ename"], text=content["evalue"], traceback=trace)
        case _:
            return None


def _value(told: list[str]) -> ShownValue:
    return ShownValue(kind=str(told[0])[:200], digest=str(told[1])[:200])


if __name__ == "__main__":
    main()
