"""A notebook with what its cells showed, as a notebook of Jupyter that gives the same when it is run there."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

from cellwright.ids import CellId
from cellwright.kernel.jupyter import JupyterOutput, OriginalRun
from cellwright.kernel.observation import CellOutcome, CellOutput
from cellwright.notebook.document import Document
from cellwright.notebook.marimo_graph import graph

_PICTURE: Final = re.compile(r"^data:(image/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=\s]*)$")
_ELEMENT: Final = re.compile(r"<marimo-")
_MOST_HTML: Final = 2_000_000


def ipynb_text(document: Document, outputs: Mapping[CellId, Sequence[dict[str, Any]]], *, python: str) -> str:
    """Format 4.5. Cells come in the order they run in: Jupyter runs from top to bottom."""
    cells = list[dict[str, Any]]()
    count = 0
    for number, identity in enumerate(run_order(document), start=1):
        cell = document.find(identity)
        assert cell is not None, "the order is of its own cells"
        text = _markdown(cell.code)
        common = {"id": f"cell-{number}", "metadata": {"cellwright": {"name": cell.name}}}
        if text is not None:
            cells.append({"cell_type": "markdown", **common, "source": _lines(text)})
            continue
        count += 1
        shown = [one | ({"execution_count": count} if one["output_type"] == "execute_result" else {})
                 for one in outputs.get(identity, ())]  # fmt: skip
        cells.append({
            "cell_type": "code", **common, "execution_count": count, "outputs": shown, "source": _lines(cell.code),
        })  # fmt: skip
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "version": python},
        **({"cellwright": {"header": document.header}} if document.header.strip() else {}),
    }
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def run_order(document: Document) -> tuple[CellId, ...]:
    """Each cell behind those it reads from; else as they stand."""
    nodes = graph(document).nodes
    waiting = [cell.id for cell in document.cells if not cell.config.disabled]
    done, ordered = set[CellId](), list[CellId]()
    while waiting:
        ready = next((cell for cell in waiting if not (nodes[cell].parents - done) & set(waiting)), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
        done.add(ready)
    return tuple(ordered)


def _markdown(code: str) -> str | None:
    """The text of a cell that is `mo.md` of a plain text, and nothing else."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return None
    match tree.body:
        case [
            ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="mo"), attr="md"), args=[argument], keywords=[])
            )
        ]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                return textwrap.dedent(argument.value).strip()
        case _:
            pass
    return None


def jupyter_outputs(document: Document, ran: OriginalRun) -> dict[CellId, list[dict[str, Any]]]:
    """What Jupyter's own kernel made of `ipynb_text`, by our cells."""
    by_number = {cell.number: cell for cell in ran.cells}
    return {
        identity: [_kept(output) for output in by_number[number].outputs]
        for number, identity in enumerate(run_order(document), start=1)
        if number in by_number
    }


def _kept(output: JupyterOutput) -> dict[str, Any]:
    match output.kind:
        case "stream":
            return {"output_type": "stream", "name": output.name, "text": _lines(output.text)}
        case "error":
            trace = list(output.traceback)
            return {"output_type": "error", "ename": output.name, "evalue": output.text, "traceback": trace}
        case "display_data" | "execute_result":
            data = {kind: _lines(body) if isinstance(body, str) and not kind.startswith("image/p") else body
                    for kind, body in output.data.items()}  # fmt: skip
            return {"output_type": output.kind, "metadata": {}, "data": data}
        case other:
            assert_never(other)


def our_outputs(outcomes: Sequence[CellOutcome]) -> dict[CellId, list[dict[str, Any]]]:
    """What our kernel showed, as far as any viewer of Jupyter's notebooks can show it."""
    return {outcome.id: _outputs(outcome) for outcome in outcomes}


def _outputs(outcome: CellOutcome) -> list[dict[str, Any]]:
    outputs = list[dict[str, Any]]()
    if outcome.console:
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(outcome.console)})
    if outcome.error is not None:
        error = outcome.error
        trace = (error.traceback or f"{error.type}: {error.message}").split("\n")
        outputs.append({"output_type": "error", "ename": error.type, "evalue": error.message, "traceback": trace})
    elif outcome.output is not None:
        outputs.append({"output_type": "execute_result", "metadata": {}, "data": _bundle(outcome.output)})
    return outputs


def _bundle(output: CellOutput) -> dict[str, Any]:
    """What any viewer can show: pictures, plain text, HTML that is not marimo's own elements."""
    data: dict[str, Any] = {"text/plain": _lines(output.text)}
    found = {output.mimetype: output.data}
    if output.mimetype == "application/vnd.marimo+mimebundle":
        try:
            read = json.loads(output.data)
        except (ValueError, RecursionError):
            read = {}
        found = (
            {str(kind): text for kind, text in read.items() if isinstance(text, str)} if isinstance(read, dict) else {}
        )
    for kind, text in found.items():
        picture = _PICTURE.match(text)
        if picture is not None:
            data[picture[1]] = picture[2]
        elif kind == "image/svg+xml" or (
            kind == "text/html" and 0 < len(text) <= _MOST_HTML and not _ELEMENT.search(text)
        ):
            data[kind] = _lines(text)
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
