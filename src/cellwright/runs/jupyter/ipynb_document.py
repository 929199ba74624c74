"""A notebook with what its cells showed, as a notebook of Jupyter that gives the same when it is run there."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any, Final

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome, CellOutput
from cellwright.notebook.document import Document
from cellwright.notebook.marimo_graph import graph

_PICTURE: Final = re.compile(r"^data:(image/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=\s]*)$")
_ELEMENT: Final = re.compile(r"<marimo-")
_MOST_HTML: Final = 2_000_000


def ipynb_text(document: Document, outcomes: Mapping[CellId, CellOutcome], *, python: str) -> str:
    """Format 4.5. Cells come in the order they run in: Jupyter runs from top to bottom."""
    ordered = [cell for identity in run_order(document) if (cell := document.find(identity)) is not None]
    cells = list[dict[str, Any]]()
    count = 0
    for number, cell in enumerate(ordered):
        text = _markdown(cell.code)
        common = {"id": f"cell-{number + 1}", "metadata": {"cellwright": {"name": cell.name}}}
        if text is not None:
            cells.append({"cell_type": "markdown", **common, "source": _lines(text)})
            continue
        count += 1
        outputs = _outputs(outcomes.get(cell.id), count)
        code = {"execution_count": count, "outputs": outputs, "source": _lines(cell.code)}
        cells.append({"cell_type": "code", **common, **code})
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
        case [ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="mo"), attr="md"), args=[argument], keywords=[]))]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                return textwrap.dedent(argument.value).strip()
        case _:
            pass
    return None


def _outputs(outcome: CellOutcome | None, count: int) -> list[dict[str, Any]]:
    if outcome is None:
        return []
    outputs = list[dict[str, Any]]()
    if outcome.console:
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(outcome.console)})
    if outcome.error is not None:
        error = outcome.error
        trace = (error.traceback or f"{error.type}: {error.message}").split("\n")
        outputs.append({"output_type": "error", "ename": error.type, "evalue": error.message, "traceback": trace})
    elif outcome.output is not None and (data := _bundle(outcome.output)):
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
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
        found = {str(kind): text for kind, text in read.items() if isinstance(text, str)} if isinstance(read, dict) else {}
    for kind, text in found.items():
        picture = _PICTURE.match(text)
        if picture is not None:
            data[picture[1]] = picture[2]
        elif kind == "text/html" and text and len(text) <= _MOST_HTML and not _ELEMENT.search(text):
            data[kind] = _lines(text)
        elif kind == "image/svg+xml" and text.lstrip().startswith("<"):
            data[kind] = _lines(text)
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
