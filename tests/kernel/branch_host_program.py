"""Opens a notebook as whoever runs this, and tries every hostile branch on it; says as JSON what did not hold.

`python branch_host_program.py NOTEBOOK CACHE TIER`: a process of its own, because it is started as another user.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parents[2]))

from cellwright.app import Files, open_notebook
from cellwright.settings import Settings
from tests.kernel.hostile_branches import ATTACKS, state_of, try_attack


async def main() -> dict[str, Any]:
    notebook_path, cache = Path(sys.argv[1]), Path(sys.argv[2])
    tier: Any = sys.argv[3]
    found: dict[str, Any] = {"ways": {}, "changed": [], "unfinished": []}
    settings = Settings(home=cache / "home", cache=cache)
    files = Files(project=notebook_path.parent)
    async with open_notebook(notebook_path, files=files, tier=tier, settings=settings) as notebook:
        await notebook.run("all")
        before = await state_of(notebook)
        for name in ATTACKS:
            observation = await try_attack(notebook, name)
            assert observation.method is not None
            found["ways"][name] = observation.method.kind
            if not observation.cells or observation.cells[-1].console != "came to the end\n":
                found["unfinished"].append([name, repr(observation)])
            after = await state_of(notebook)
            if after != before:
                found["changed"].append([name, str(after), str(before)])
                before = after
        found["tier"] = notebook.provisioner.options.tier
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(main)))
