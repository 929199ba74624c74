"""An authority for one cage: signs for hosts whose TLS is opened. Nothing outside of the cage trusts it.

Its key is in this process and in no file; what a host's certificate is signed for is exactly that host, and its own
certificate says for which hosts it counts at all.
"""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cellwright.sandbox.egress.destinations import address_in

_AUTHORITY_DAYS: Final = 90
_HOST_HOURS: Final = 48
_RENEWED_HOURS: Final = 24
_PEM: Final = serialization.Encoding.PEM


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownHost:
    context: ssl.SSLContext
    until: datetime


class CageAuthority:
    """Certificates for hosts, made when they are needed. Blocking, and safe to use from threads."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self.hosts: Final = frozenset(hosts)
        """For which it may sign; a certificate for another is one that nobody accepts."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Cellwright, for this cage only")])
        self._hosts: dict[str, _KnownHost] = {}
        self._lock = threading.Lock()
        own = _begin(self._name, self._name, self._key.public_key(), self._key, timedelta(days=_AUTHORITY_DAYS))
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        own = own.add_extension(_usage(signs_certificates=True), critical=True)
        own = own.add_extension(_constraints(self.hosts), critical=True)
        self.certificate: Final = own.sign(self._key, hashes.SHA256()).public_bytes(_PEM).decode("ascii")
        """What the cage trusts, in PEM form."""

    def context_for(self, host: str) -> ssl.SSLContext:
        """How to speak as this host."""
        now = datetime.now(UTC)
        with self._lock:
            known = self._hosts.get(host)
            if known is None or known.until < now:
                known = _KnownHost(context=self._make(host), until=now + timedelta(hours=_RENEWED_HOURS))
                self._hosts[host] = known
            return known.context

    def _make(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        address = address_in(host)
        # A common name has room for 64 characters and nobody reads it: the alternative name is what counts.
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a host")])
        san = x509.DNSName(host) if address is None else x509.IPAddress(address)
        signed = (
            _begin(subject, self._name, key.public_key(), self._key, timedelta(hours=_HOST_HOURS))
            .add_extension(x509.SubjectAlternativeName([san]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return _context(private + signed.public_bytes(_PEM))


def _begin(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _constraints(hosts: Iterable[str]) -> x509.NameConstraints:
    names = [x509.DNSName(host) for host in sorted(hosts) if address_in(host) is None]
    addresses = [x509.IPAddress(ip_network(found)) for host in sorted(hosts) if (found := address_in(host)) is not None]
    # Of a sort that is not named at all everything would be permitted: nobody has these.
    nobody = [x509.DNSName("nobody.invalid")], [x509.IPAddress(ip_network("0.0.0.0"))]
    return x509.NameConstraints([*(names or nobody[0]), *(addresses or nobody[1])], None)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates, key_cert_sign=signs_certificates, crl_sign=signs_certificates,
        content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _context(identity: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Sessions are no use where each connection is judged anew, and renegotiation would let a read wait for a write.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    # The module reads keys from files only: this one is in memory, and gone before anybody else can look.
    descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, identity)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return context
