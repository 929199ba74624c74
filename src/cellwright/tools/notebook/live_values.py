"""Tables and numbers out of a live notebook, whole and as JSON: what a cell shows is cut for people and models."""

from __future__ import annotations

import json
from textwrap import indent
from typing import Any, Final

from cellwright.errors import UserError
from cellwright.notebook import clip
from cellwright.tools.notebook.editor import NotebookEditor

MOST_BYTES: Final = 2_000_000
_SECONDS: Final = 300
_FAULT_TOKENS: Final = 150
_CELL: Final = """\
def _tell():
BODY


class _Told:
    def _mime_(self):
        return "text/plain", _tell()


_Told()"""


def json_cell_code(body: str) -> str:
    """A cell that shows the JSON text that `body` returns; it defines no name that another cell could see."""
    return _CELL.replace("BODY", indent(body, "    "))


async def read_live_json(editor: NotebookEditor, code: str) -> Any:
    """What such a cell shows. It is taken out again. Raises `UserError` if it failed, or showed what is no JSON."""
    observation = (await editor.try_out(code, seconds=_SECONDS)).observation
    fault = next((cell.error for cell in observation.cells if cell.error is not None), None)
    if fault is not None:
        raise UserError(f"{fault.type}: {clip(fault.message, _FAULT_TOKENS)}")
    shown = next((cell.output for cell in observation.cells if cell.output is not None), None)
    if not observation.is_ok or shown is None or not shown.data:
        raise UserError(observation.problem or "The notebook showed nothing.")
    if len(shown.data) > MOST_BYTES:
        raise UserError("It is too much to be read.", hint="Ask for less.")
    try:
        return json.loads(shown.data)
    except (ValueError, RecursionError) as error:
        raise UserError("What the notebook showed is no JSON.") from error
