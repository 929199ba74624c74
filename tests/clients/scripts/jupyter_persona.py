"""In an environment of its own: Jupyter AI's own client speaks with what our persona starts, and has it answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from cellwright_jupyter_ai.persona import PROGRAM, CellwrightPersona


async def main() -> None:
    """A session as the persona begins one."""
    assert PROGRAM is not None
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "acp", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    client = CellwrightPersona.acp_client_class(agent_subprocess=process, event_loop=asyncio.get_running_loop())
    sys.stdout.write(f"loads sessions: {(await client.get_agent_capabilities()).load_session}\n")
    connection = await client.get_connection()
    session = await connection.new_session(cwd=str(Path.cwd()), mcp_servers=[])
    sys.stdout.write(f"session: {session.session_id}\n")
    sys.stdout.write(f"modes: {[each.id for each in session.modes.available_modes]}\n")
    process.kill()


asyncio.run(main())
