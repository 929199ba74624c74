"""Opens the notebook of a project with something mounted in it, tries a branch, keeps its files; says what it saw.

`python volumes_program.py NOTEBOOK HOME`, in a mount namespace and as the user that the test chose.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio

import cellwright
from cellwright.ids import CellId
from cellwright.kernel.branches.branch import Committed
from cellwright.kernel.observation import Observation
from cellwright.notebook.edits import CreateCell
from cellwright.settings import Settings

LOOK = """
import os
from pathlib import Path
def attempt(action):
    try:
        return action()
    except OSError as error:
        return error.strerror
seen = sorted(f"{folder}/{name}"[2:] for folder, _, names in os.walk(".") for name in names)
print({
    "seen": seen,
    "secret": attempt(Path("data/n,e:d/.env").read_text),
    "repository": attempt(lambda: Path(".git/config").write_text("")),
    "single": [Path("single.toml").read_text(), attempt(lambda: Path("single.toml").write_text(""))],
    "system": attempt(lambda: os.listdir("kernel")),
})
"""
CHANGE = """
Path("out.txt").write_text("out")
Path("data/rows.csv").write_text("changed")
Path("data/new").mkdir(); Path("data/new/file").write_text("new")
Path("data/n,e:d/inner.csv").unlink()
Path("ignored").mkdir(exist_ok=True); Path("ignored/log").write_text("new log")
"""
TRY = """
tried = Path("data/rows.csv").read_text(), Path("data/n,e:d/inner.csv").exists()
Path("data/rows.csv").write_text("tried")
Path("data/n,e:d/branch.csv").write_text("branch")
"""


async def main() -> None:
    notebook_file, home = Path(sys.argv[1]), Path(sys.argv[2])
    settings = Settings(home=home, cache=home / "cache")
    said: dict[str, Any] = {}
    async with cellwright.open_notebook(notebook_file, settings=settings) as notebook:
        said["look"] = _console(await notebook.apply([_cell("look", LOOK)]))
        said["change"] = _console(await notebook.apply([_cell("change", CHANGE)]))
        async with notebook.branch() as branch:
            tried = await branch.apply([_cell("tried", f"{TRY}print(tried)")])
            said["branch"] = [_console(tried), sorted([c.path, c.kind] for c in await branch.changed_files())]
        said["after_branch"] = _console(
            await notebook.apply([_cell("after", "print(Path('data/rows.csv').read_text())")])
        )
        async with notebook.branch() as branch:
            await branch.apply([_cell("tried", TRY)])
            committed = await branch.commit()
            said["committed"] = list(committed.files) if isinstance(committed, Committed) else repr(committed)
        said |= {
            "tier": notebook.provisioner.options.tier,
            "volumes": list(notebook.provisioner.volumes.all),
            "is_copied": notebook.provisioner.is_copied,
        }
        said["left_out"] = list(notebook.provisioner.left_out)
    kept = notebook.kept[-1]
    said["kept"] = sorted(kept.kept)
    said["refused"] = list(kept.refused)
    sys.stdout.write(json.dumps(said))


def _cell(name: str, code: str) -> CreateCell:
    return CreateCell(id=CellId(name), code=code)


def _console(observation: Observation) -> str:
    return "".join(cell.console + (str(cell.error or "")) for cell in observation.cells)


if __name__ == "__main__":
    anyio.run(main)
