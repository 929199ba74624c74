"""moto as an S3 server that checks signatures, and a way for real clients to speak over the broker's lines."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import anyio
import boto3
from botocore.config import Config

from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection
from cellwright.data.messages import OpenExchange

PLAIN = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1, "mode": "standard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A server with the buckets `lake` and `archive`, and the key of somebody who may do everything."""

    url: str
    access_key_id: str
    secret: str

    def connection(self, **options: str) -> DataConnection:
        given = {"endpoint": self.url, "buckets": "lake,archive/sales", "access_key_id": self.access_key_id}
        return DataConnection(name="lake", kind="s3", options=given | options)

    def owner(self) -> Any:
        return s3_client(self.url, self.access_key_id, self.secret)


def s3_client(url: str, key_id: str, secret: str) -> Any:
    return boto3.client(
        "s3", endpoint_url=url, aws_access_key_id=key_id, aws_secret_access_key=secret, region_name="us-east-1",
        config=PLAIN,
    )  # fmt: skip


@contextmanager
def s3_server() -> Generator[S3Server]:
    """From here on every request is checked: who signs it, and whether they may."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait_for(url, process)
            yield _filled(url)
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), urlopen(f"{url}/moto-api/data.json", timeout=5):
            return
        threading.Event().wait(0.05)
    raise AssertionError("moto did not start")


def _filled(url: str) -> S3Server:
    setup = s3_client(url, "setup", "setup")
    for bucket, keys in {"lake": ("a.csv", "deep/é ü=1/b%20c.csv"), "archive": ("sales/1.csv", "hr/pay.csv")}.items():
        setup.create_bucket(Bucket=bucket)
        for key in keys:
            setup.put_object(Bucket=bucket, Key=key, Body=f"rows of {key}".encode())
    users = boto3.client(
        "iam", endpoint_url=url, aws_access_key_id="setup", aws_secret_access_key="setup", region_name="us-east-1"
    )
    users.create_user(UserName="ada")
    policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
    users.put_user_policy(UserName="ada", PolicyName="all", PolicyDocument=policy)
    key = users.create_access_key(UserName="ada")["AccessKey"]
    from_now_on = Request(f"{url}/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"})
    with urlopen(from_now_on, timeout=5):
        return S3Server(url=url, access_key_id=key["AccessKeyId"], secret=key["SecretAccessKey"])


@contextmanager
def line_bridge(client: BrokerClient, name: str) -> Generator[str]:
    """An address of this machine, each connection to which is a line of its own: as the proxy in a cage has it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=carry, args=(listener.accept()[0],), daemon=True).start()

    def carry(caller: socket.socket) -> None:
        with caller, anyio.run(client.exchange, OpenExchange(connection=name)) as line:
            line.setblocking(True)
            threading.Thread(target=pour, args=(caller, line), daemon=True).start()
            pour(line, caller)

    def pour(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def is_in_files(folder: Path, secret: str) -> list[str]:
    """Names of files that have it."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if secret.encode() in file.read_bytes()]
