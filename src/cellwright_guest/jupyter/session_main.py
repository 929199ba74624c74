"""The program in the cage that keeps one kernel of Jupyter, of any language, and runs what the host sends it.

`python -I -S session_main.py PACKAGES…`; JSON lines on descriptor 3: first which kernel, then a cell each, answered by
one line. Client and kernel speak over sockets that are files of the cage's own `/tmp`. The end of the line ends all.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from queue import Empty
from typing import Any, Final, Literal

import msgspec

_DESCRIPTOR: Final = 3
_LAUNCHER: Final = Path(__file__).with_name("module_kernel_main.py")
_START_SECONDS: Final = 90.0
_TICK_SECONDS: Final = 0.2
_INTERRUPT_SECONDS: Final = 5.0
_MOST_TEXT: Final = 40_000
_MOST_RICH: Final = 400_000
_MOST_SHOWN: Final = 20
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TELL: Final = {
    "python": "for _n, _v in sorted((n, v) for n, v in globals().items() if n[0] != '_' and n not in "
    "('In', 'Out', 'exit', 'quit', 'get_ipython', 'open')):\n"
    "    print(_n, type(_v).__name__, repr(_v)[:300].replace('\\n', ' '), sep='\\t')",
    "R": "for (.n in ls()) cat(paste(.n, class(get(.n))[1], "
    "substr(paste(capture.output(str(get(.n), max.level = 1)), collapse = ' '), 1, 300), "
    "sep = '\\t'), '\\n', sep = '')",
}
"""How a language is asked for its variables: a name, a type and a text in each line."""


class KernelCommand(msgspec.Struct, frozen=True, kw_only=True):
    """Which kernel: its kernelspec."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    language: str = ""


class CellCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A cell to run, or (`stop`) the interruption of the one that runs."""

    code: str = ""
    seconds: float = 120.0
    stop: bool = False


class ShownPart(msgspec.Struct, frozen=True, kw_only=True):
    """Something a cell shows."""

    mimetype: str
    text: str
    data: str = ""


class CellAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a cell; of a hostile kernel, so no more than a claim."""

    status: Literal["ready", "ok", "failed", "interrupted", "lost"]
    ms: float = 0.0
    printed: str = ""
    error: str = ""
    message: str = ""
    traceback: str = ""
    shown: tuple[ShownPart, ...] = ()
    variables: tuple[tuple[str, str, str], ...] = ()
    end: str = ""
    """Why the kernel is gone."""


class _Line:
    """JSON lines on the descriptor."""

    def __init__(self) -> None:
        self._data = b""

    def read(self, seconds: float | None = None) -> bytes | None:
        """The next line, or None if there is none yet. Raises `EOFError`."""
        while b"\n" not in self._data:
            if not select.select([_DESCRIPTOR], [], [], seconds)[0]:
                return None
            piece = os.read(_DESCRIPTOR, 1 << 16)
            if not piece:
                raise EOFError
            self._data += piece
        line, _, self._data = self._data.partition(b"\n")
        return line

    @staticmethod
    def say(answer: CellAnswer) -> None:
        left = memoryview(msgspec.json.encode(answer) + b"\n")
        while left:
            left = left[os.write(_DESCRIPTOR, left) :]


def main() -> None:
    """Serve until the line ends."""
    line = _Line()
    first = line.read()
    assert first is not None
    command = msgspec.json.decode(first, type=KernelCommand)
    with tempfile.TemporaryDirectory(prefix="jupyter-", dir="/tmp") as folder:
        session = _Session(line, command, folder)
        try:
            session.serve()
        except EOFError:
            return
        finally:
            session.end()


class _Session:
    def __init__(self, line: _Line, command: KernelCommand, folder: str) -> None:
        from jupyter_client.blocking.client import BlockingKernelClient
        from jupyter_client.connect import write_connection_file

        self._line = line
        self._language = command.language
        file, _ = write_connection_file(f"{folder}/kernel.json", ip=f"{folder}/socket", transport="ipc")
        self._words = Path(folder, "kernel.log").open("w+b")  # noqa: SIM115
        environment = {**os.environ, **command.env, "IPYTHONDIR": f"{folder}/ipython", "JUPYTER_RUNTIME_DIR": folder}
        self._kernel = subprocess.Popen(
            _launched([word.replace("{connection_file}", file) for word in command.argv]),
            env=environment, stdin=subprocess.DEVNULL, stdout=self._words, stderr=self._words, start_new_session=True,
        )  # fmt: skip
        self._client: Any = BlockingKernelClient(connection_file=file)
        self._client.load_connection_file()
        self._client.start_channels(hb=False)

    def serve(self) -> None:
        """Say that it is ready, then answer each cell."""
        try:
            self._client.wait_for_ready(timeout=_START_SECONDS)
        except RuntimeError:
            self._kernel.kill()
            self._line.say(CellAnswer(status="lost", end=f"it did not start: {self._log()}"))
            return
        self._line.say(CellAnswer(status="ready"))
        while True:
            line = self._line.read()
            command = msgspec.json.decode(line or b"{}", type=CellCommand)
            if command.stop:
                # What it was to stop had just ended.
                continue
            answer = self._cell(command)
            if answer.status != "lost" and (tell := _TELL.get(self._language)):
                told = self._cell(CellCommand(code=tell, seconds=20), is_counted=False)
                answer = msgspec.structs.replace(answer, variables=_variables(told.printed))
            self._line.say(answer)
            if answer.status == "lost":
                return

    def end(self) -> None:
        """Nothing of it is left."""
        self._client.stop_channels()
        try:
            os.killpg(self._kernel.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._kernel.wait()

    def _log(self) -> str:
        self._words.seek(0)
        return self._words.read(4_000).decode("utf-8", "replace")[-1_500:]

    def _cell(self, command: CellCommand, *, is_counted: bool = True) -> CellAnswer:
        began = time.monotonic()
        identity = self._client.execute(command.code, store_history=is_counted, allow_stdin=False, stop_on_error=False)
        heard, stopped_at = _Heard(), 0.0
        while not heard.is_idle:
            now = time.monotonic()
            if stopped_at and now > stopped_at + _INTERRUPT_SECONDS:
                self._kernel.kill()
                return heard.answer("lost", began, "it was interrupted, and did not stop")
            if not stopped_at and (now > began + command.seconds or self._is_stopped()):
                stopped_at = now
                os.killpg(self._kernel.pid, signal.SIGINT)
            try:
                message = self._client.get_iopub_msg(timeout=_TICK_SECONDS)
            except Empty:
                if self._kernel.poll() is not None:
                    return heard.answer("lost", began, _ending(self._kernel.returncode))
                continue
            if message["parent_header"].get("msg_id") == identity:
                heard.take(message["msg_type"], message["content"])
        return heard.answer("interrupted" if stopped_at else "failed" if heard.error else "ok", began)

    def _is_stopped(self) -> bool:
        line = self._line.read(0)
        return line is not None and msgspec.json.decode(line, type=CellCommand).stop


def _launched(argv: list[str]) -> list[str]:
    """A kernel made of ipykernel is begun by us: its I/O thread would bind a TCP port, which a cage forbids."""
    if Path(argv[0]).name.startswith("python") and argv[1:2] == ["-m"]:
        return [argv[0], "-B", str(_LAUNCHER), *argv[2:]]
    return argv


def _ending(code: int) -> str:
    return f"it was killed by signal {-code}" if code < 0 else f"it exited with code {code}"


def _variables(printed: str) -> tuple[tuple[str, str, str], ...]:
    parts = [line.split("\t", 2) for line in printed.splitlines()[:200]]
    return tuple((part[0][:200], part[1][:100], part[2][:300]) for part in parts if len(part) == 3)


class _Heard:
    """What a kernel has told of one cell, bounded as it comes."""

    def __init__(self) -> None:
        self.is_idle = False
        self.error = ""
        self._message = ""
        self._traceback = ""
        self._printed = ""
        self._shown: list[ShownPart] = []

    def take(self, kind: str, content: dict[str, Any]) -> None:
        match kind:
            case "stream":
                self._printed = (self._printed + _plain(str(content.get("text", ""))))[:_MOST_TEXT]
            case "display_data" | "execute_result" if len(self._shown) < _MOST_SHOWN:
                self._shown.append(_part(content.get("data") or {}))
            case "error":
                self.error = str(content.get("ename") or "Error")[:200]
                self._message = _plain(str(content.get("evalue", "")))[:_MOST_TEXT]
                self._traceback = _plain("\n".join(map(str, content.get("traceback", ()))))[:_MOST_TEXT]
            case "status":
                self.is_idle = content.get("execution_state") == "idle"
            case _:
                pass

    def answer(self, status: Literal["ok", "failed", "interrupted", "lost"], began: float, end: str = "") -> CellAnswer:
        return CellAnswer(
            status=status,
            ms=(time.monotonic() - began) * 1000,
            printed=self._printed,
            error=self.error,
            message=self._message,
            traceback=self._traceback,
            shown=tuple(self._shown),
            end=end,
        )


def _plain(text: str) -> str:
    return _COLOURS.sub("", text)


def _part(data: dict[str, Any]) -> ShownPart:
    rich = next((kind for kind in ("text/html", "image/png", "image/svg+xml", "text/markdown") if kind in data), "")
    text = _plain(str(data.get("text/plain", data.get("text/markdown", ""))))[:_MOST_TEXT]
    shown = str(data[rich]) if rich else ""
    return ShownPart(mimetype=rich or "text/plain", text=text, data=shown if len(shown) <= _MOST_RICH else "")


if __name__ == "__main__":
    main()
