"""Real servers with files: an S3 server that checks signatures, SSH, WebDAV, Samba, a web server with index pages."""

from __future__ import annotations

import http.server
import os
import pwd
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import anyio
import anyio.from_thread
import asyncssh
import boto3
from wsgidav.wsgidav_app import WsgiDAVApp

from cellwright.data.connections import DataConnection
from cellwright.data.source_kinds import SourceKind
from tests.data.worker.tls import TlsFiles

CANARY = "cAnArY-s3cret+/of=files"
FILES: Mapping[str, bytes] = {
    "readme.txt": b"hello",
    "sales/2024-01.csv": b"day,amount\n1,10\n2,20\n",
    "sales/2024-02.csv": b"day,amount\n1,30\n",
    "sales/deep/er/zahl \xc3\xa4.bin".encode("latin-1").decode(): bytes(range(256)) * 4096,
}
"""What every server has, below its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileServer:
    """A server and how a connection to it looks."""

    kind: SourceKind
    options: Mapping[str, str]
    secret: str
    prefix: str = ""
    """Before every path."""
    requests: list[str] = field(default_factory=list[str])

    def connection(self, name: str = "lake", **options: str) -> DataConnection:
        return DataConnection(name=name, kind=self.kind, options={**self.options, **options})


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def s3_server(files: Mapping[str, bytes] = FILES, bucket: str = "lake-bucket") -> Generator[FileServer]:
    """moto, which checks signatures after the three requests that make its one user."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        env={"PATH": os.environ["PATH"], "INITIAL_NO_AUTH_ACTION_COUNT": "3"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port, process)
        endpoint = f"http://127.0.0.1:{port}"
        key, secret = _s3_user(endpoint)
        store = _client("s3", endpoint, key, secret)
        store.create_bucket(Bucket=bucket)
        store.create_bucket(Bucket="other-bucket")
        store.put_object(Bucket="other-bucket", Key="secret.txt", Body=b"not yours")
        for path, data in files.items():
            store.put_object(Bucket=bucket, Key=path, Body=data)
        options = {"buckets": bucket, "access_key_id": key, "endpoint": endpoint}
        yield FileServer(kind="s3", options=options, secret=secret, prefix=f"{bucket}/")
    finally:
        process.kill()
        process.wait()


def s3_client(server: FileServer) -> Any:
    return _client("s3", server.options["endpoint"], server.options["access_key_id"], server.secret)


def _s3_user(endpoint: str) -> tuple[str, str]:
    iam = _client("iam", endpoint, "none", "none")
    iam.create_user(UserName="reader")
    made = iam.create_access_key(UserName="reader")["AccessKey"]
    allowed = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
    iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=allowed)
    return made["AccessKeyId"], made["SecretAccessKey"]


def _client(service: Any, endpoint: str, key: str, secret: str) -> Any:
    return boto3.client(
        service, endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1"
    )


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError(f"The server ended: {process.returncode}.")


def write_files(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


class _Ssh(asyncssh.SSHServer):
    opened: list[asyncssh.SSHServerConnection]

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.opened.append(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == ("reader", CANARY)


@contextmanager
def sftp_server(folder: Path, public_key: str = "") -> Generator[FileServer]:
    """asyncssh's own server, over the machine's real files."""
    key, opened = asyncssh.generate_private_key("ssh-ed25519"), list[asyncssh.SSHServerConnection]()
    ssh = type("_CountedSsh", (_Ssh,), {"opened": opened})
    with anyio.from_thread.start_blocking_portal() as portal:

        async def start() -> tuple[asyncssh.SSHAcceptor, int]:
            clients: Any = asyncssh.import_authorized_keys(public_key) if public_key else None
            acceptor = await asyncssh.create_server(
                ssh, "127.0.0.1", 0, server_host_keys=[key], sftp_factory=True, authorized_client_keys=clients
            )
            return acceptor, acceptor.get_port()

        async def stop(acceptor: asyncssh.SSHAcceptor) -> None:
            acceptor.close()
            for connection in opened:
                connection.abort()
                await connection.wait_closed()
            await acceptor.wait_closed()

        acceptor, port = portal.call(start)
        options = {
            "host": "127.0.0.1", "port": str(port), "user": "reader", "path": str(folder),
            "host_key": key.export_public_key().decode().strip(),
        }  # fmt: skip
        yield FileServer(kind="sftp", options=options, secret=CANARY)
        portal.call(stop, acceptor)


@contextmanager
def webdav_server(folder: Path) -> Generator[FileServer]:
    """wsgidav, with a user and a password."""
    users = {"*": {"reader": {"password": CANARY}}}
    config: dict[str, Any] = {
        "provider_mapping": {"/": str(folder)},
        "simple_dc": {"user_mapping": users},
        "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        "verbose": 0,
        "logging": {"enable": False},
    }
    with make_server("127.0.0.1", 0, WsgiDAVApp(config), _DavSockets, _QuietDav) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            options = {"url": f"http://127.0.0.1:{server.server_port}", "user": "reader"}
            yield FileServer(kind="webdav", options=options, secret=CANARY)
        finally:
            server.shutdown()
            thread.join()


class _DavSockets(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietDav(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        del format, args


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """The standard library's, and ranges."""

    protocol_version = "HTTP/1.1"
    requests: list[str]

    def log_message(self, format: str, *args: Any) -> None:
        """Nowhere."""

    def do_GET(self) -> None:
        self.requests.append(f"{self.command} {self.path} {self.headers.get('Range', '')}")
        if self.headers.get("Authorization") != f"Bearer {CANARY}":
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path = Path(self.translate_path(self.path))
        wanted = self.headers.get("Range")
        if wanted is None or not path.is_file():
            return super().do_GET()
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        data, size = path.read_bytes(), path.stat().st_size
        part = data[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{size}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
        self.end_headers()
        self.wfile.write(part)
        return None


@contextmanager
def web_server(folder: Path, tls: TlsFiles | None = None) -> Generator[FileServer]:
    """Index pages and ranges, for whoever has the token."""
    requests: list[str] = []
    handler = type("_Counted", (_Ranges,), {"requests": requests})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.certificate, tls.key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        place = "http://127.0.0.1" if tls is None else "https://localhost"
        options = {"url": f"{place}:{server.server_address[1]}/"}
        yield FileServer(kind="http", options=options, secret=CANARY, requests=requests)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


_SETTINGS = """[global]
    server role = standalone server
    smb ports = {port}
    interfaces = 127.0.0.1
    bind interfaces only = yes
    disable netbios = yes
    load printers = no
    printcap name = /dev/null
    disable spoolss = yes
    map to guest = never
    server min protocol = SMB3
    private dir = {state}
    lock directory = {state}
    state directory = {state}
    cache directory = {state}
    pid directory = {state}
    ncalrpc dir = {state}
    log file = {state}/log
    passdb backend = tdbsam:{state}/passdb.tdb
    unix extensions = no

[files]
    path = {folder}
    read only = no
    follow symlinks = yes
    wide links = {wide}
"""


@contextmanager
def smb_server(folder: Path, state: Path, *, leaves_share: bool = False) -> Generator[FileServer]:
    """The folder as the share `files`, for whoever runs this, with a password of its own.

    `leaves_share`: links that lead out of it are followed by the server.
    """
    state.mkdir(parents=True)
    port, settings = free_port(), state / "smb.conf"
    wide = "yes" if leaves_share else "no"
    settings.write_text(_SETTINGS.format(port=port, state=state, folder=folder, wide=wide))
    user = pwd.getpwuid(os.geteuid()).pw_name
    subprocess.run(
        ["/usr/bin/smbpasswd", "-c", str(settings), "-s", "-a", user],
        input=f"{CANARY}\n{CANARY}\n".encode(),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    command = ["/usr/sbin/smbd", "--foreground", "--no-process-group", "-s", str(settings)]
    # In a session of its own: when it ends, it ends its whole group of processes.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for_port(port, process)
        options = {"host": "127.0.0.1", "port": str(port), "share": "files", "user": user}
        yield FileServer(kind="smb", options=options, secret=CANARY)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def file_server(kind: str, folder: Path) -> Generator[FileServer]:
    """The server of a kind, with `FILES`."""
    match kind:
        case "s3":
            opened = s3_server()
        case "sftp":
            opened = sftp_server(write_files(folder))
        case "smb":
            opened = smb_server(write_files(folder), folder.with_name(f"{folder.name}-state"))
        case "webdav":
            opened = webdav_server(write_files(folder))
        case _:
            opened = web_server(write_files(folder))
    with opened as server:
        yield server
