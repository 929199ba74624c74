"""The two files with which the web door speaks TLS, looked at before anything starts.

Standard library only: a door reads it before it loads anything else.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.server.web.addresses import WebWish

_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_KEY: Final = b"PRIVATE KEY-----"
_LOCKED: Final = (b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")


def tls_files(wish: WebWish) -> tuple[str, str] | None:
    """Certificate and key, which go together; None without TLS. Raises `UserError`. Blocking."""
    if not wish.certificate:
        return None
    if _CERTIFICATE not in _read(wish.certificate, "--tls-cert"):
        raise UserError(
            f"{wish.certificate!r} is no certificate.",
            hint="--tls-cert takes PEM, which begins with -----BEGIN CERTIFICATE-----, with those it rests on.",
        )
    key = _read(wish.key, "--tls-key")
    if _KEY not in key:
        raise UserError(f"{wish.key!r} is no key.", hint="--tls-key takes the certificate's private key as PEM.")
    if any(each in key for each in _LOCKED):
        raise UserError(
            f"The key {wish.key!r} has a password.",
            hint="Nobody is there to type it when the daemon starts: give --tls-key one without.",
        )
    _check_together(wish)
    return wish.certificate, wish.key


def _read(path: str, option: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        why = (problem.strerror or type(problem).__name__).lower()
        raise UserError(f"{path!r} cannot be read: {why}.", hint=f"Name the file with {option}.") from problem


def _check_together(wish: WebWish) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(wish.certificate, wish.key, password="")
    except OSError as problem:
        if getattr(problem, "reason", "") == "KEY_VALUES_MISMATCH":
            raise UserError(
                f"The key {wish.key!r} is not that of the certificate {wish.certificate!r}.",
                hint="Give --tls-cert and --tls-key that were made together; the certificate comes first in its file.",
            ) from problem
        raise UserError(
            f"TLS files cannot be used: {str(getattr(problem, 'reason', '') or problem).lower().replace('_', ' ')}.",
            hint="--tls-cert is the certificate as PEM with those it rests on, --tls-key its key.",
        ) from problem
