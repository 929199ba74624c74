"""Notebooks as values: cells, their reactive graph, edits, and marimo's file format.

Owns:   reading and saving `.py` notebooks losslessly, edits and what they would do, summaries for prompts.
Above:  kernel, tools, runs, server.   Below: errors, ids.
Never:  running code, processes, model calls, HTTP. Only `marimo_*.py` know marimo.

`document` has the values, `edits` changes them, `dataflow` is the graph, `consequences` what edits would do; `files`
and `render` read and write `.py` files, `prompt_summary` is a notebook as text for a model.
"""

from cellwright.notebook.atomic_write import SavePoint
from cellwright.notebook.consequences import Consequences, LostName, foresee
from cellwright.notebook.dataflow import CodeProblem, Cycle, Graph, Node
from cellwright.notebook.document import DEFAULT_NAME, SETUP_ID, AppOption, Cell, CellConfig, Document
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
from cellwright.notebook.marimo_check import LintFinding, check
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import CellOutcomeText, summary
from cellwright.notebook.render import render
from cellwright.notebook.text_budget import clip, estimate_tokens

__all__ = [
    "DEFAULT_NAME",
    "SETUP_ID",
    "After",
    "AppOption",
    "AtEnd",
    "AtStart",
    "Before",
    "Cell",
    "CellConfig",
    "CellOutcomeText",
    "CellPosition",
    "CodeProblem",
    "ConfigureCell",
    "Consequences",
    "CreateCell",
    "Cycle",
    "DeleteCell",
    "Document",
    "Edit",
    "EditCell",
    "EditRefused",
    "Graph",
    "LintFinding",
    "LostName",
    "MoveCell",
    "Node",
    "NotebookFile",
    "RenameCell",
    "SaveConflict",
    "SavePoint",
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
