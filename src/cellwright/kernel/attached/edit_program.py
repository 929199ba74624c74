"""The program that runs in a stock marimo kernel: text, never imported here.

It compares every cell with what was seen before it changes one, and answers one line that carries a mark of this call.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

PROGRAM: Final = """
import base64, json, sys, time

async def main(given, mark):
    asked = json.loads(base64.b64decode(given))
    def say(**told):
        sys.stdout.write("\\ncellwright-" + mark + ":" + json.dumps(told) + "\\n")
    if asked["patience"] and abs(time.time() - asked["sent"]) > asked["patience"]:
        return say(status="late", now=time.time())
    import marimo._code_mode as code_mode
    made = {}
    try:
        async with code_mode.get_context(skip_validation=True, skip_staleness_check=True) as context:
            there = {str(cell.id): cell.code for cell in context.cells}
            seen = asked["seen"]
            changed = [cell for cell in asked["needs"] if there.get(cell) != seen.get(cell)]
            if changed:
                return say(status="conflict", cells=changed[:100])
            if there != seen:
                return say(status="moved")
            def known(cell):
                return made.get(cell, cell)
            for edit in asked["edits"]:
                apply(context, edit, made, known)
            for cell in asked["run"]:
                context.run_cell(known(cell))
        say(status="done", made=made)
    except Exception as error:
        say(status="failed", message=(type(error).__name__ + ": " + str(error))[:2000], made=made)

def apply(context, edit, made, known):
    place = {side: known(edit[side]) for side in ("before", "after") if edit.get(side)}
    match edit["op"]:
        case "create":
            made[edit["cell"]] = str(context.create_cell(
                edit["code"], name=edit["name"] or None, **edit["config"], **place))
        case "edit":
            context.edit_cell(known(edit["cell"]), edit["code"])
        case "rename":
            context.edit_cell(known(edit["cell"]), name=edit["name"])
        case "configure":
            context.edit_cell(known(edit["cell"]), **edit["config"])
        case "move":
            context.move_cell(known(edit["cell"]), **place)
        case "delete":
            context.delete_cell(known(edit["cell"]))
"""
_STARTER: Final = """\
# cellwright-{mark}
import builtins as __cellwright
__cellwright_scope = {{"__builtins__": __cellwright}}
__cellwright.exec(__cellwright.compile({program!r}, "<cellwright>", "exec"), __cellwright_scope)
await __cellwright_scope["main"]({given!r}, {mark!r})
"""


class ProgramAnswer(msgspec.Struct):
    """What the program said; of a hostile kernel, so no more than a claim."""

    status: str
    """done, conflict, moved (another cell is not as it was seen), late (it began long after it was sent), failed."""
    made: dict[str, str] = {}
    cells: list[str] = []
    message: str = ""
    now: float = 0.0


def new_mark() -> str:
    """What an answer to one call must carry."""
    return secrets.token_hex(16)


def program(
    mark: str,
    *,
    edits: Sequence[Mapping[str, Any]],
    run: Sequence[str],
    seen: Mapping[str, str],
    needs: Sequence[str],
    sent: float,
    patience: float,
) -> str:
    """The text to be executed. `seen` is each cell's code; those in `needs` are about to be changed."""
    asked = {"edits": edits, "run": run, "seen": seen, "needs": needs, "sent": sent, "patience": patience}
    given = base64.b64encode(json.dumps(asked).encode()).decode("ascii")
    return _STARTER.format(mark=mark, program=PROGRAM, given=given)


def read_answer(printed: str, mark: str) -> ProgramAnswer | None:
    """The first line with this call's mark; None if nothing said anything that can be read."""
    for line in printed.splitlines():
        if line.startswith(f"cellwright-{mark}:"):
            try:
                return msgspec.json.decode(line.partition(":")[2], type=ProgramAnswer)
            except msgspec.MsgspecError:
                return None
    return None


_PUT_BACK: Final = """
import base64, json
async def main(given, mark):
    asked = json.loads(base64.b64decode(given))
    import marimo._code_mode as code_mode
    from marimo._messaging.notebook.changes import SetCode, Transaction
    from marimo._messaging.notification import NotebookDocumentTransactionNotification as Told
    context = code_mode.get_context()
    there = {str(cell.id): cell.code for cell in context.cells}
    if there.get(asked["cell"]) == asked["code"]:
        change = SetCode(cell_id=asked["cell"], code=asked["code"])
        context.broadcast_raw_notification(Told(transaction=Transaction(changes=(change,), source="code-mode")))
"""


def put_back(cell: str, code: str) -> str:
    """Show every page the text that the server has of a cell, because somebody's page was shown another over theirs."""
    given = base64.b64encode(json.dumps({"cell": cell, "code": code}).encode()).decode("ascii")
    return _STARTER.format(mark=new_mark(), program=_PUT_BACK, given=given)
