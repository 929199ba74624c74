"""An API and an object store on loopback, which check every secret, and notebooks that reach them by connections."""

from __future__ import annotations

import gzip
import io
import json
import ssl
import threading
import urllib.request
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet
from moto.server import ThreadedMotoServer

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebooks import open_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection, store_connection
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.secrets import keep_secret
from tests.conftest import notebook_source
from tests.sandbox.egress.world import make_certificates

API_SECRET = "canary-token-of-the-api-77213"
TAG = '"first"'
BIRDS: list[dict[str, Any]] = [{"bird": "wren", "grams": 9}, {"bird": "robin", "grams": 18}]


@dataclass
class ApiServer:
    """An API with TLS that knows one token, and what it heard."""

    port: int
    authority: Path
    heard: list[str] = field(default_factory=list[str])
    """Requests with the right token, or below `/open/` with none, as `GET /path`."""
    strangers: list[str] = field(default_factory=list[str])
    """All others."""
    ended: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "") -> str:
        return f"https://localhost:{self.port}{path}"

    def connection(self, name: str = "crm", **options: str) -> DataConnection:
        given = {"url": self.url(), "tls_ca": str(self.authority)}
        return DataConnection(name=name, kind="api", options=given | options)


class _ApiHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: ApiServer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = f"{self.command} {self.path}"
        is_open = self.path.startswith("/open/")
        if self.headers.get("Authorization") != (None if is_open else f"Bearer {API_SECRET}"):
            self.server_of.strangers.append(request)
            return self._say(401, {"error": "who are you?"})
        self.server_of.heard.append(request)
        match self.path.partition("?")[0]:
            case "/v1/echo":
                return self._say(200, {"headers": dict(self.headers), "body": body.decode()})
            case "/v1/count":
                return self._say(200, self.server_of.heard.count(request))
            case "/v1/tagged" if self.headers.get("If-None-Match") == TAG:
                self.server_of.heard[-1] += " 304"
                return self._say(304, None)
            case "/v1/tagged":
                return self._say(200, BIRDS, ETag=TAG)
            case "/v1/unkept":
                return self._say(200, BIRDS, **{"Cache-Control": "private, no-store"})
            case "/v1/moved":
                return self._say(302, None, Location="/v1/birds")
            case "/v1/away":
                return self._say(302, None, Location="/v2/birds")
            case "/v1/abroad":
                # The same server by a name that no connection has.
                return self._say(302, None, Location=f"https://127.0.0.1:{self.server_of.port}/v1/birds")
            case "/v1/endless":
                return self._stream(b"[" + b"1," * (1 << 15), pieces=1 << 20)
            case "/v1/bomb":
                # A thousand times as much when it is opened, to whoever wants it compressed or not.
                return self._stream(gzip.compress(b" " * (64 << 20)), pieces=1, encoding="gzip")
            case "/v1/slow":
                self.send_response(200)
                self.end_headers()
                self.wfile.flush()
                self.server_of.ended.wait(60)
                self.close_connection = True
                return None
            case "/v1/busy":
                return self._say(429, {"error": "too many"})
            case _:
                return self._say(200, BIRDS)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _answer

    def _stream(self, piece: bytes, *, pieces: int, encoding: str = "identity") -> None:
        self.send_response(200)
        self.send_header("Content-Encoding", encoding)
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            for _ in range(pieces):
                self.wfile.write(piece)

    def _say(self, status: int, value: object, **headers: str) -> None:
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, said in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, said)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


class _ApiSockets(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what some tests are about."""


@contextmanager
def api_server(directory: Path) -> Generator[ApiServer]:
    """It runs for as long as the block."""
    authority, identity = make_certificates(directory, ["localhost"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    server = ApiServer(port=0, authority=authority)
    handler = type("Handler", (_ApiHandler,), {"server_of": server})
    with _ApiSockets(("127.0.0.1", 0), handler) as sockets:
        sockets.socket = context.wrap_socket(sockets.socket, server_side=True, do_handshake_on_connect=False)
        server.port = sockets.server_address[1]
        thread = threading.Thread(target=sockets.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            sockets.shutdown()
            thread.join()


def name_api(home: Path, connection: DataConnection) -> None:
    """Store it, with its secret."""
    store_connection(home, connection)
    keep_secret(home, connection.secret_name, API_SECRET, "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectServer:
    """An object store that checks signatures; its own keys reach `lake` and `vault`."""

    port: int
    key_id: str
    secret: str

    @property
    def client(self) -> Any:
        """Whatever a test looks at behind everybody's back."""
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id=self.key_id,
            aws_secret_access_key=self.secret,
            region_name="us-east-1",
        )

    def connection(self, name: str = "lake", **options: str) -> DataConnection:
        endpoint = f"http://127.0.0.1:{self.port}"
        given = {"buckets": "lake", "access_key_id": self.key_id, "endpoint": endpoint}
        return DataConnection(name=name, kind="s3", options=given | options)

    def keys(self, bucket: str = "lake") -> list[str]:
        return [each["Key"] for each in self.client.list_objects_v2(Bucket=bucket).get("Contents", [])]

    def name(self, home: Path, connection: DataConnection) -> None:
        """Store it, with its secret."""
        store_connection(home, connection)
        keep_secret(home, connection.secret_name, self.secret, "file")


@contextmanager
def object_server() -> Generator[ObjectServer]:
    """moto, with two buckets, and a user whose signature counts."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        port = server.get_host_and_port()[1]
        anybody: dict[str, Any] = {
            "endpoint_url": f"http://127.0.0.1:{port}",
            "aws_access_key_id": "anybody",
            "aws_secret_access_key": "anything",
            "region_name": "us-east-1",
        }
        iam, s3 = boto3.client("iam", **anybody), boto3.client("s3", **anybody)
        # What servers before this one had is the process's.
        _tell_moto(port, "reset", "")
        iam.create_user(UserName="reader")
        rights = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=json.dumps(rights))
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        table = io.BytesIO()
        pyarrow.parquet.write_table(pa.table({"n": list(range(1000))}), table)
        for bucket in ("lake", "vault"):
            s3.create_bucket(Bucket=bucket)
            s3.put_object(Bucket=bucket, Key="t/a.csv", Body=b"n\n1\n2\n")
            s3.put_object(Bucket=bucket, Key="t/a.parquet", Body=table.getvalue())
        before = _check_signatures_after(port, "0")
        yield ObjectServer(port=port, key_id=key["AccessKeyId"], secret=key["SecretAccessKey"])
        _check_signatures_after(port, before)
    finally:
        server.stop()


def _check_signatures_after(port: int, requests: str) -> str:
    """How many requests pass unchecked first; what it was before."""
    return str(_tell_moto(port, "reset-auth", requests)["PREVIOUS_INITIAL_NO_AUTH_ACTION_COUNT"])


def _tell_moto(port: int, what: str, said: str) -> dict[str, Any]:
    address = f"http://127.0.0.1:{port}/moto-api/{what}"
    with urllib.request.urlopen(
        urllib.request.Request(address, data=said.encode(), headers={"Content-Type": "text/plain"})
    ) as answer:
        return json.loads(answer.read())


# ── notebooks that reach them ──


def write(notebook: Path, *cells: str) -> Path:
    notebook.parent.mkdir(exist_ok=True)
    notebook.write_text(notebook_source(*cells))
    return notebook


@asynccontextmanager
async def opening(
    client: BrokerClient, pool: KernelPool, folder: Path, name: str = "notebook.py", **leave: Any
) -> AsyncGenerator[OpenNotebook]:
    """A notebook whose connections are those of this broker, read by this leave."""
    notebook = write(folder / name, "pass")
    connecting = open_notebook_connections(client, notebook=notebook, project=folder, **leave)
    async with connecting as connections, open_notebook(notebook, pool=pool, connections=connections) as opened:
        yield opened


async def told(notebook: OpenNotebook, code: str) -> str:
    """What code prints, or how it fails."""
    body = "".join(f"    {line}\n" for line in code.strip().splitlines())
    ran = await notebook.apply([CreateCell(code=f"def _():\n{body}\n_()")])
    cell = ran.cells[-1]
    return cell.error.message if cell.error else cell.console.strip()


def asking(url: str, code: str, name: str = "crm") -> str:
    return f"URL = {url!r}\nHEADERS = {{'Authorization': 'Bearer cellwright-secret:{name}'}}\n{code}"
