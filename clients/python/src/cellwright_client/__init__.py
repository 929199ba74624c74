"""A client of Cellwright's HTTP API, without its runtime.

`calls` has a function for each operation, `shapes` what is sent and answered; both are made from the API's document.
`Client` and `AsyncClient` send calls, read files and follow events.
"""

from cellwright_client import calls, shapes
from cellwright_client.call import Call, File, Stream
from cellwright_client.client import AsyncClient, Client
from cellwright_client.problems import ApiError
from cellwright_client.server_events import ServerEvent
from cellwright_client.shapes import Problem

__all__ = ["ApiError", "AsyncClient", "Call", "Client", "File", "Problem", "ServerEvent", "Stream", "calls", "shapes"]
