"""The person's own proxy, when their network has no other way out: reached here, never seen in a cage."""

from __future__ import annotations

from typing import Final

import h11

from cellwright.connection import Proxy
from cellwright.sandbox.egress.heads import credentials
from cellwright.sandbox.egress.lines import Line, Spoilt
from cellwright.sandbox.egress.messages import HttpSide
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
    request = h11.Request(
        method="CONNECT", target=authority, headers=[(b"Host", authority.encode()), *credentials(proxy)]
    )
    side = HttpSide(line, "server", most=most)
    await line.send(side.written(request))
    try:
        answer = await side.response()
    except Spoilt as error:
        raise Turned(502, f"the proxy of this machine gave no proper answer: {error}") from error
    if answer.status_code == _ASKS_WHO:
        raise Turned(502, "the proxy of this machine wants another user or password")
    if answer.status_code != _OK:
        raise Turned(
            502, f"the proxy of this machine does not lead to host {target.host!r}: it says {answer.status_code}"
        )
