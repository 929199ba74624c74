"""Code of ours in a fresh caged kernel that has the data files and nothing of the notebook under review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import anyio.to_thread

from cellwright.data.files import DataFile
from cellwright.errors import CellwrightError
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.profiler import Profiler
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import new
from cellwright.profiles.data_search import mounts, search
from cellwright.sandbox.private_directory import private_directory

_SECONDS: Final = 120.0
_TOKENS: Final = 20_000
_RESULT: Final = "computed"


async def compute_fresh(profiler: Profiler, data: Sequence[DataFile], code: str) -> Any:
    """What the code leaves in `computed`, as JSON; a text says why there is nothing.

    It finds the files at `folder / target`. Nothing it writes is kept.
    """
    try:
        selection = await anyio.to_thread.run_sync(search, [*data])
        with private_directory("review") as nowhere:
            options = KernelOptions(project=nowhere, files="drop", data=mounts(selection.files), tier=profiler.tier)
            async with profiler.pool.open_notebook(new(nowhere / "review.py"), options) as notebook:
                whole = f"import marimo as mo\n\nfolder = mo.notebook_dir()\n{code}"
                ran = await notebook.apply([CreateCell(code=whole)], seconds=_SECONDS)
                fault = next((cell.error for cell in ran.cells if cell.error is not None), None)
                if fault is not None or not ran.is_ok:
                    return f"{fault.type}: {fault.message}"[:300] if fault else ran.problem or "it did not run"
                found = (await notebook.values([_RESULT], tokens=_TOKENS)).get(_RESULT)
    except CellwrightError as error:
        return error.message
    if found is None or not found.is_whole:
        return "there was more than could be read"
    return found.json
