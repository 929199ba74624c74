"""Notebooks as values: cells, their reactive graph, edits, and marimo's file format.

Owns:   reading and saving `.py` notebooks losslessly, edits and what they would do, summaries for prompts.
Above:  kernel, tools, runs, server.   Below: errors, ids.
Never:  running code, processes, model calls, HTTP. Only `marimo_*.py` know marimo.

`document` has the values, `edits` changes them, `dataflow` is the graph, `consequences` what edits would do; `files`
and `render` read and write `.py` files, `prompt_summary` is a notebook as text for a model.
"""

from cellwright.notebook.consequences import foresee
from cellwright.notebook.document import DEFAULT_NAME, SETUP_ID, Cell, CellConfig, Document
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.edits import (
    After,
    AtEnd,
    AtStart,
    Before,
    CellPosition,
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    EditRefused,
    MoveCell,
    RenameCell,
    apply_edits,
    restore_edits,
)
from cellwright.notebook.files import NotebookFile, SaveConflict, new, read, save
from cellwright.notebook.marimo_check import check
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import clip, estimate_tokens, summary
from cellwright.notebook.render import render

__all__ = [
    "DEFAULT_NAME",
    "SETUP_ID",
    "After",
    "AtEnd",
    "AtStart",
    "Before",
    "Cell",
    "CellConfig",
    "CellPosition",
    "ConfigureCell",
    "CreateCell",
    "DeleteCell",
    "Document",
    "Edit",
    "EditCell",
    "EditRefused",
    "MoveCell",
    "NotebookFile",
    "RenameCell",
    "SaveConflict",
    "apply_edits",
    "check",
    "clip",
    "estimate_tokens",
    "foresee",
    "graph",
    "new",
    "parse_edits",
    "read",
    "render",
    "restore_edits",
    "save",
    "summary",
]
