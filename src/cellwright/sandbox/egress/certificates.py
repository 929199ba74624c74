"""Whom a notebook trusts besides the usual authorities."""

from __future__ import annotations

import ssl
from pathlib import Path

from cellwright.errors import UserError

_MOST_BYTES = 2 << 20


def trusting(certificates: Path) -> str:
    """The certificates in a file together with those this machine trusts anyway; `UserError` if there are none."""
    try:
        own = certificates.read_text("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=own)
    except (OSError, ValueError) as error:
        raise UserError(f"No certificates can be read from {str(certificates)!r}.", hint="Give a PEM file.") from error
    usual = ssl.create_default_context().get_ca_certs(binary_form=True)
    text = "\n".join([own, *(ssl.DER_cert_to_PEM_cert(certificate) for certificate in usual)])
    if len(text) > _MOST_BYTES:
        raise UserError(f"{str(certificates)!r} holds too many certificates.", hint="Give only those of your own.")
    return text
