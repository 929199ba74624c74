"""Certificates made on the spot, and TLS in front of a server that has none."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
"""What libpq says before the TLS of Postgres begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """Of a server that is called `localhost`, and of the authority that says so."""

    authority: Path
    certificate: Path
    key: Path


def tls_files(folder: Path) -> TlsFiles:
    files = TlsFiles(authority=folder / "ca.pem", certificate=folder / "server.pem", key=folder / "server.key")
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = _signed("Cellwright's tests", root_key.public_key(), "Cellwright's tests", root_key, is_authority=True)
    own = _signed("localhost", key.public_key(), "Cellwright's tests", root_key, is_authority=False)
    files.authority.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    files.certificate.write_bytes(own.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    files.key.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return files


def _signed(
    name: str, key: ec.EllipticCurvePublicKey, issuer: str, by: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
    )
    if is_authority:
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        made = made.add_extension(usage, critical=True)
    else:
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return made.sign(by, hashes.SHA256())


@contextmanager
def tls_in_front(
    reach: Callable[[], socket.socket], files: TlsFiles | None, *, asks_first: bool = False
) -> Generator[int]:
    """A port of this machine that leads to a server; without files there is no TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if files is not None:
        context.load_cert_chain(files.certificate, files.key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=carry, args=(listener.accept()[0],), daemon=True).start()

    def carry(caller: socket.socket) -> None:
        with suppress(OSError), caller:
            if asks_first and caller.recv(8, socket.MSG_PEEK) == SSL_REQUEST:
                caller.recv(8)
                caller.sendall(b"N" if files is None else b"S")
            inner = caller if files is None else context.wrap_socket(caller, server_side=True)
            with inner, reach() as server:
                threading.Thread(target=pour, args=(server, inner), daemon=True).start()
                pour(inner, server)

    def pour(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
