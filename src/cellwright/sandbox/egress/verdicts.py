"""What may be reached, how much of it, and what came of each visit: plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cellwright.errors import UserError
from cellwright.sandbox.egress.targets import BadTarget, Target, normal_host


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The host may be reached."""

    has_private_addresses: bool = False
    """Also when its name leads to a loopback, private or otherwise special address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The host may not be reached; `why` is what the notebook's author reads."""

    why: str = ""


Verdict = Allowed | Denied
Decide = Callable[[str, int], Verdict]
"""Asked with host and port about every host that is not on the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHost:
    """A host somebody approved: exactly this name, no other below it."""

    name: str
    ports: tuple[int, ...] = (80, 443)
    has_private_addresses: bool = False
    """Approved although its name leads into the private network or to this machine."""

    def normal(self) -> str:
        """Its name in the form that is judged; `UserError` if it is none."""
        host = normal_host(self.name)
        if isinstance(host, BadTarget):
            raise UserError(f"{self.name!r} cannot be approved: {host.why}.", hint="Give a plain host name.")
        return host


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressCaps:
    """How much may go through."""

    connections: int = 32
    """At once; more wait."""
    requests: int = 100_000
    """In all, refused ones included."""
    header_bytes: int = 64 << 10
    """Of one request or answer."""
    bytes_out_per_host: int = 64 << 20
    bytes_in_per_host: int = 2 << 30
    bytes_out: int = 256 << 20
    bytes_in: int = 8 << 30
    head_seconds: float = 20
    """For a whole request head or TLS greeting, however slowly it drips."""
    connect_seconds: float = 20
    """For resolving a name and connecting."""
    idle_seconds: float = 120
    """Without a byte in either direction."""
    total_seconds: float = 3600
    """For one connection of the notebook."""


Outcome = Literal["allowed", "denied", "failed", "cut"]
"""denied: nothing was sent. failed: approved, but the host did not do its part. cut: begun, and ended by us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request, or one encrypted connection, and what came of it."""

    host: str
    """Empty where the request named none that could be read."""
    port: int
    address: str | None
    """Where it really went; None if it went nowhere."""
    verdict: Outcome
    bytes_out: int
    bytes_in: int
    milliseconds: float
    why: str = ""
    """The reason, unless all went well."""


def judge(target: Target, listed: AllowedHost | None, decide: Decide) -> Verdict:
    """The list first, then whoever decides; nobody's yes is a no."""
    if listed is not None and target.port in listed.ports:
        return Allowed(has_private_addresses=listed.has_private_addresses)
    verdict = decide(target.host, target.port)
    if isinstance(verdict, Denied) and not verdict.why:
        what = f"host {target.host!r}" if listed is None else f"port {target.port} of host {target.host!r}"
        return Denied(why=f"{what} is not approved for this notebook")
    return verdict
