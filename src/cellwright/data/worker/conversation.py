"""What the broker asks and the worker answers, one request at a time, over the one socket between them."""

from __future__ import annotations

import json
import logging
import os
import queue
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

from cellwright.data.catalogue import CATALOGUE_JSON, Catalogue
from cellwright.data.file_stores.session import FileSession
from cellwright.data.source_kinds import STORE_KINDS
from cellwright.data.worker.failures import SecretMask
from cellwright.data.worker.interruption import Ending, Interruption
from cellwright.data.worker.json_lines import as_json_lines
from cellwright.data.worker.opening import open_source
from cellwright.data.worker.results import SealedResult, write_result
from cellwright.data.worker.source import Source, SourceFailed, SourceLogin, WritingSource
from cellwright.framing import BadFrame, FrameUnpacker, pack_json, read_json

DESCRIPTOR_MARK: Final = b"F"
_OPEN_SECONDS: Final = 60.0
_READ_BYTES: Final = 1 << 16
_LEAVE_SECONDS: Final = 2.0
_MAX_CATALOGUE_BYTES: Final = 20 << 20
"""In JSON of ASCII alone it may be three times as long, and a frame has its limit."""
_TIMES: Final = {"catalogue": 120.0, "estimate": 20.0, "functions": 20.0}
"""How long what has no limit of its own may take."""
logger = logging.getLogger(__name__)

Request = dict[str, Any]


class Conversation:
    """From the broker's first frame to its end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._source: Source | None = None
        self._files: FileSession | None = None
        """Instead of a source, where the connection has files."""
        self._access = "read"
        self._asked = ""
        self._mask = SecretMask("", "")
        self._interruption = Interruption(self._cancel, self._give_up)

    def hold(self) -> None:
        """Answer until the broker hangs up: the thread that hears it ends the process."""
        threading.Thread(target=self._hear, name="hear", daemon=True).start()
        while True:
            request = self._requests.get()
            reply, descriptor = self._answered(request)
            self._send(reply, descriptor)
            if request.get("kind") == "open" and self._source is None and self._files is None:
                return

    # ── hearing and telling ──

    def _hear(self) -> None:
        frames = FrameUnpacker()
        try:
            while data := self._connection.recv(_READ_BYTES):
                for request in map(read_json, frames.feed(data)):
                    if request.get("kind") == "cancel":
                        self._interruption.ask()
                    else:
                        self._requests.put(request)
        except (OSError, BadFrame) as problem:
            logger.warning("the broker's words end: %s", problem)
        # Told once, and not waited for long: that the session ends tells the server, too.
        canceller = threading.Thread(target=self._cancel, name="cancel", daemon=True)
        canceller.start()
        canceller.join(_LEAVE_SECONDS)
        os._exit(0)

    def _send(self, reply: Request, descriptor: int | None) -> None:
        with self._sending:
            try:
                self._connection.sendall(pack_json(reply))
                if descriptor is not None:
                    socket.send_fds(self._connection, [DESCRIPTOR_MARK], [descriptor])
            except OSError as problem:
                logger.warning("the broker does not listen: %s", problem)
            finally:
                if descriptor is not None:
                    os.close(descriptor)

    def _cancel(self) -> None:
        for session in (self._source, self._files):
            if session is not None:
                session.cancel()

    def _give_up(self, ending: Ending) -> None:
        failure = SourceFailed("gone", "The server does not end the statement; the session was closed.")
        self._send(self._mask.reply(failure, None if self._asked == "write" or not ending else ending), None)
        os._exit(1)

    # ── answering ──

    def _answered(self, request: Request) -> tuple[Request, int | None]:
        self._asked = kind = str(request.get("kind"))
        seconds = float(request.get("seconds") or _TIMES.get(kind, 60.0))
        # What an opening says is the limit of statements to come.
        limit = _OPEN_SECONDS if kind == "open" else seconds
        with self._interruption.until(limit) as ending:
            try:
                reply, descriptor = self._answers()[kind](request, seconds)
                # MySQL's sleep() ends early and says nothing. A write that was done was done.
                if kind in {"query", "read"} and descriptor is not None and ending():
                    os.close(descriptor)
                    return self._failed(SourceFailed("cancelled", ""), ending(), limit), None
                return reply, descriptor
            except SourceFailed as failure:
                return self._failed(failure, ending(), limit), None
            except KeyError as problem:
                return self._failed(SourceFailed("other", f"The request lacks or is {problem}."), "", limit), None
            except Exception as problem:
                # Drivers raise whatever they raise, and somebody waits for an answer. Nothing is written in a worker.
                logger.exception("a driver failed")
                why = f"The driver failed: {type(problem).__name__}: {problem}"
                return self._failed(SourceFailed("other", why), ending(), limit), None

    def _answers(self) -> dict[str, Callable[[Request, float], tuple[Request, int | None]]]:
        return {
            "open": self._open,
            "query": self._query,
            "catalogue": self._catalogue,
            "estimate": self._estimate,
            "functions": self._functions,
            "rehearse": self._rehearse,
            "write": self._write,
            "files": self._list_files,
            "stat": self._stat_file,
            "read": self._read_file,
        }

    def _failed(self, failure: SourceFailed, ending: Ending, seconds: float) -> Request:
        """Why it really ended: whoever is interrupted says whatever they say."""
        if self._asked == "write" and failure.kind == "gone":
            # Nobody knows whether it was done: that it was cancelled besides would say that it was not.
            return self._mask.reply(failure)
        if ending == "cancelled":
            return self._mask.reply(SourceFailed("cancelled", "It was cancelled."))
        if ending == "time" or failure.kind == "time":
            hint = "Ask for less, or allow the connection more seconds."
            return self._mask.reply(SourceFailed("time", f"It took more than {seconds:g} seconds.", hint=hint))
        return self._mask.reply(failure)

    def _open(self, request: Request, seconds: float) -> tuple[Request, int | None]:
        login = SourceLogin(
            options=dict(request["options"]),
            user=str(request.get("user", "")),
            secret=str(request.get("secret", "")),
            access=request.get("access", "read"),
            seconds=seconds,
            network=dict(request.get("network") or {}),
        )
        self._mask, self._access = SecretMask(login.user, login.secret), login.access
        if request["source"] in STORE_KINDS:
            self._files = FileSession(request["source"], login)
            return {"kind": "opened", "server": self._mask.line(self._files.server)}, None
        self._source = open_source(request["source"], login)
        return {"kind": "opened", "server": self._mask.line(self._source.server)}, None

    def _query(self, request: Request, seconds: float) -> tuple[Request, int | None]:
        with self._open_source().stream(request["statement"], request.get("parameters") or (), seconds) as stream:
            result = write_result(stream, rows=int(request["rows"]), size=int(request["bytes"]))
        if request.get("form") == "json":
            result = as_json_lines(result)
        return _result_reply(result), result.descriptor

    def _catalogue(self, _request: Request, _seconds: float) -> tuple[Request, int | None]:
        catalogue = self._open_source().catalogue()
        while len(dumped := CATALOGUE_JSON.dump_json(catalogue)) > _MAX_CATALOGUE_BYTES:
            catalogue = replace(catalogue, tables=_half(catalogue), is_cut=True)
        return {"kind": "catalogue", "catalogue": json.loads(dumped)}, None

    def _estimate(self, request: Request, _seconds: float) -> tuple[Request, int | None]:
        estimate = self._open_source().estimate(request["statement"], request.get("parameters") or ())
        return {"kind": "estimate", "rows": estimate.rows, "bytes": estimate.bytes}, None

    def _functions(self, request: Request, _seconds: float) -> tuple[Request, int | None]:
        names = request["names"]
        return {"kind": "functions", "doing_more": list(self._open_source().doing_more(names) if names else ())}, None

    def _rehearse(self, request: Request, seconds: float) -> tuple[Request, int | None]:
        return {"kind": "rehearsed", "rows": self._writer().rehearse(request["statement"], seconds)}, None

    def _write(self, request: Request, seconds: float) -> tuple[Request, int | None]:
        return {"kind": "written", "rows": self._writer().write(request["statement"], seconds)}, None

    def _list_files(self, request: Request, _seconds: float) -> tuple[Request, int | None]:
        listed = self._open_files().entries(request["path"], is_deep=bool(request.get("recursive")))
        return {"kind": "listed", **listed}, None

    def _stat_file(self, request: Request, _seconds: float) -> tuple[Request, int | None]:
        return {"kind": "file", **self._open_files().stat(request["path"])}, None

    def _read_file(self, request: Request, _seconds: float) -> tuple[Request, int | None]:
        memory, version = self._open_files().read(
            request["path"], int(request["start"]), request["length"], request["version"], int(request["bytes"])
        )
        reply = {"kind": "part", "size": memory.bytes, "version": version, "sha256": memory.sha256, "descriptors": 1}
        return reply, memory.descriptor

    def _open_files(self) -> FileSession:
        if self._files is None:
            raise SourceFailed("other", "No session with files is open.")
        return self._files

    def _open_source(self) -> Source:
        if self._source is None:
            raise SourceFailed("other", "No session is open.")
        return self._source

    def _writer(self) -> WritingSource:
        source = self._open_source()
        if self._access != "write" or not hasattr(source, "write"):
            raise SourceFailed("other", "This session only reads.")
        return cast("WritingSource", source)


def _half(catalogue: Catalogue) -> tuple[Any, ...]:
    return catalogue.tables[: len(catalogue.tables) // 2]


def _result_reply(result: SealedResult) -> Request:
    return {
        "kind": "result",
        "rows": result.rows,
        "bytes": result.bytes,
        "cut": result.cut,
        "columns": [list(column) for column in result.columns],
        "sha256": result.sha256,
        "descriptors": 1,
    }
