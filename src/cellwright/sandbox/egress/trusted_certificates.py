"""Whom programs in a cage trust: the usual authorities, a company's own, and the cage's."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from cellwright.errors import UserError

_MOST_BYTES: Final = 2 << 20


def trusted_certificates(certificates: Path | None, *own: str) -> str:
    """The certificates in a file and these, with those this machine trusts anyway; `UserError` if the file has none."""
    usual = ssl.create_default_context().get_ca_certs(binary_form=True)
    given = [*own] if certificates is None else [*own, _read(certificates)]
    text = "\n".join([*given, *(ssl.DER_cert_to_PEM_cert(certificate) for certificate in usual)])
    if len(text) > _MOST_BYTES:
        raise UserError(f"{str(certificates)!r} holds too many certificates.", hint="Give only those of your own.")
    return text


def _read(certificates: Path) -> str:
    try:
        own = certificates.read_text("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=own)
    except (OSError, ValueError) as error:
        raise UserError(f"No certificates can be read from {str(certificates)!r}.", hint="Give a PEM file.") from error
    return own
