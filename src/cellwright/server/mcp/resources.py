"""What can be read: of each run its report, its notebook and its events, at `cellwright://runs/RUN/…`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cellwright.server.http.api_calls import ApiCalls
from cellwright.server.http.errors import ResourceNotFound

_ADDRESS: Final = re.compile(r"cellwright://runs/([A-Za-z0-9][A-Za-z0-9_.-]{0,99})/(report|notebook|events)")
_MOST_EVENTS: Final = 1_000
TYPES: Final = {"report": "text/markdown", "notebook": "text/x-python", "events": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceText:
    """What stands at an address."""

    media_type: str
    text: str


async def read_resource(api: ApiCalls, address: str) -> ResourceText:
    """Raises `ResourceNotFound`, and what the API raises."""
    if (found := _ADDRESS.fullmatch(address)) is None:
        raise ResourceNotFound(
            f"Nothing is at {address[:200]!r}.", hint="cellwright://runs/RUN/report, …/notebook or …/events."
        )
    run, what = found[1], found[2]
    match what:
        case "report":
            data = await api.read("GET", f"/runs/{run}/report")
        case "events":
            data = await api.read("GET", f"/runs/{run}/timeline", query={"limit": _MOST_EVENTS})
        case _:
            data = await _read_notebook(api, run)
    return ResourceText(media_type=TYPES[what], text=data.decode(errors="replace"))


async def _read_notebook(api: ApiCalls, run: str) -> bytes:
    files = (await api.get(f"/runs/{run}/artifacts"))["artifacts"]
    name = next((each["name"] for each in files if each["kind"] == "notebook"), None)
    if name is None:
        raise ResourceNotFound(f"The run {run!r} has no notebook yet.", hint="follow_run says how far it is.")
    return await api.read("GET", f"/runs/{run}/artifacts/{name}")
