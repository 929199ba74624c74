"""The API's document as it stands in `web/openapi.json`; `python -m tests.server.http.document` writes it again."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

from tests.house.places import ROOT
from tests.server.http.a_served_folder import serve, tiny_runs
from tests.server.http.api_changes import breaking_changes

DOCUMENT = ROOT / "web" / "openapi.json"


async def document(tmp_path: Path) -> dict[str, Any]:
    """What the server says of itself."""
    async with tiny_runs(tmp_path) as (settings, runs), serve(tmp_path / "folder", settings, runs) as served:
        return await served.get("/openapi.json")


def as_text(document: dict[str, Any]) -> str:
    """As it is kept."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = await document(Path(folder))
    if broken := breaking_changes(json.loads(await anyio.Path(DOCUMENT).read_text()), found):
        # Nothing is written: the kept document is what clients out there were made from.
        lines = "\n".join(f"  {line}" for line in broken[:20])
        sys.exit(f"Clients would break:\n{lines}\nKeep the old way beside the new one, or raise API_VERSION and API.")
    await anyio.Path(DOCUMENT).write_text(as_text(found))


if __name__ == "__main__":
    anyio.run(main)
