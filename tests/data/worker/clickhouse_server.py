"""ClickHouse as a server: chdb, which is ClickHouse as a library, behind HTTP. `python -m … FOLDER USER SECRET`.

Prints its port. What ClickHouse's own HTTP door adds is here: users, settings in the address, names of queries.
"""

from __future__ import annotations

import base64
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb
import pyarrow as pa

FOLDER, USER, SECRET = sys.argv[1:4]
DOOR = {"query", "query_id", "default_format", "database", "session_id", "user", "password", "wait_end_of_query",
        "client_protocol_version", "enable_http_compression", "http_headers_progress_interval_ms",
        "send_progress_in_http_headers", "cancel_http_readonly_queries_on_client_close"}  # fmt: skip


class Chunks:
    """A body whose length nobody knows yet."""

    closed = False

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if size:
            self._handler.wfile.write(b"%x\r\n" % size + bytes(data) + b"\r\n")
        return size

    def flush(self) -> None:
        self._handler.wfile.flush()

    def close(self) -> None:
        pass


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _answer(self, body: bytes) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        if self.path == "/ping":
            return self._say(200, b"Ok.\n")
        wanted = "Basic " + base64.b64encode(f"{USER}:{SECRET}".encode()).decode()
        if self.headers.get("Authorization") != wanted:
            return self._fail(516, f"{USER}: Authentication failed: password is incorrect, or there is no such user.")
        query = given.get("query", "") + body.decode()
        found = re.search(r"\bFORMAT\s+(\w+)\s*$", query)
        kind = found[1] if found else given.get("default_format", "TabSeparated")
        query = query[: found.start()] if found else query
        try:
            self._run(query, kind, given)
        except BrokenPipeError:
            self.close_connection = True
        except Exception as problem:  # noqa: BLE001 - chDB's own has no type of its own
            code = re.search(r"Code: (\d+)", str(problem))
            self._fail(int(code[1]) if code else 1002, str(problem))
        return None

    def _run(self, query: str, kind: str, given: dict[str, str]) -> None:
        connection = chdb.connect(FOLDER)
        try:
            if given.get("database"):
                connection.query(f"USE {given['database']}")
            settings = {key: value for key, value in given.items() if key not in DOOR}
            # Last: after it nothing can be set.
            readonly = settings.pop("readonly", None)
            for key, value in settings.items():
                connection.query(f"SET {key} = {value!r}")
            if readonly:
                connection.query(f"SET readonly = {readonly}")
            query = re.sub(r"query_id = '([\w-]+)'", r"query LIKE '/* \1 */%'", query)
            query = f"/* {given.get('query_id', '')} */ {query}"
            if kind == "ArrowStream" and not re.search(r"\*/ *(?:explain|show|describe|drop)", query, re.IGNORECASE):
                self._stream(connection, query)
            else:
                self._say(200, connection.query(query, kind).bytes(), kind)
        finally:
            connection.close()

    def _stream(self, connection: Any, query: str) -> None:
        parts, writer = connection.send_query(query, "ArrowStream"), None
        try:
            for part in parts:
                for batch in pa.ipc.open_stream(part.bytes()):
                    if writer is None:
                        self.send_response(200)
                        self.send_header("Transfer-Encoding", "chunked")
                        self.end_headers()
                        writer = pa.ipc.new_stream(pa.PythonFile(Chunks(self), "w"), batch.schema)
                    writer.write_batch(batch)
        except OSError:
            parts.cancel()
            raise BrokenPipeError from None
        except Exception:
            if writer is None:
                raise
            # As the real one: the body ends in its middle.
            self.close_connection = True
            self.connection.close()
            return
        if writer is None:
            # In parts it has no schema for no rows.
            self._say(200, connection.query(query, "ArrowStream").bytes())
            return
        writer.close()
        self.wfile.write(b"0\r\n\r\n")

    def _fail(self, code: int, text: str) -> None:
        told = text if text.startswith("Code:") else f"Code: {code}. DB::Exception: {text}"
        self._say(403 if code == 516 else 500, told.encode(), code=code)

    def _say(self, status: int, body: bytes, kind: str = "", code: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if kind:
            self.send_header("X-ClickHouse-Format", kind)
        if code:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    root = chdb.connect(FOLDER)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
