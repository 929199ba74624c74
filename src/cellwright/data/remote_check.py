"""Whether files behind connections are there, before anything starts that would read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio

from cellwright.data.broker_client import BrokerClient
from cellwright.data.messages import Asker, StatFile
from cellwright.data.remote_paths import RemotePath
from cellwright.errors import Unavailable

_SECONDS: Final = 60.0


async def check_remote_paths(client: BrokerClient, named: Sequence[RemotePath], asker: Asker) -> None:
    """Ask for each. Raises what its server says, `UserError` for one that is not there, or `RefusedByPolicy`."""
    for remote in named:
        try:
            with anyio.fail_after(_SECONDS):
                await client.stat(StatFile(connection=remote.connection, path=remote.path, asker=asker))
        except TimeoutError:
            raise Unavailable(
                f"{remote.words[:200]!r} did not answer within {_SECONDS:g} s.", hint="Test its connection."
            ) from None
