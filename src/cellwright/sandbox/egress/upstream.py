"""The person's own proxy, when their network has no other way out: reached here, never seen in a cage."""

from __future__ import annotations

from typing import Final

from cellwright.connection import Proxy
from cellwright.sandbox.egress.heads import BadHead, parse_response
from cellwright.sandbox.egress.lines import Line, Spoilt
from cellwright.sandbox.egress.passages import Turned
from cellwright.sandbox.egress.targets import Address, Target

_OK: Final = 200
_ASKS_WHO: Final = 407


async def connect_through(proxy: Proxy, addresses: list[Address]) -> Line:
    """A connection to the proxy. Raises `Turned`."""
    if proxy.scheme != "http":
        raise Turned(502, f"the proxy of this machine is set as {proxy.scheme}://, and notebooks need one at http://")
    why = "it was not found"
    for address in addresses:
        try:
            return await Line.connect(address, proxy.port)
        except OSError as error:
            why = error.strerror or str(error)
    raise Turned(502, f"the proxy of this machine, {proxy.host}:{proxy.port}, cannot be reached: {why}")


async def open_tunnel(proxy: Proxy, target: Target, line: Line, *, most: int) -> None:
    """Have the proxy connect to the target by its name. Raises `Turned`."""
    # A CONNECT always names its port, so no default is left out.
    authority = target.authority(default_port=0)
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", *_credentials(proxy)]
    await line.send("\r\n".join([*lines, "", ""]).encode("latin-1"))
    try:
        answer = parse_response(await line.read_until(b"\r\n\r\n", most=most), method="CONNECT")
    except Spoilt as error:
        raise Turned(502, f"the proxy of this machine gave no proper answer: {error}") from error
    if isinstance(answer, BadHead):
        raise Turned(502, f"the proxy of this machine gave no proper answer: {answer.why}")
    if answer.status == _ASKS_WHO:
        raise Turned(502, "the proxy of this machine wants another user or password")
    if answer.status != _OK:
        raise Turned(502, f"the proxy of this machine does not lead to host {target.host!r}: it says {answer.status}")


def _credentials(proxy: Proxy) -> list[str]:
    return [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
