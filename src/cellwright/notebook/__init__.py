"""Notebooks as values: cells, their reactive graph, edits, and marimo's file format.

Owns:   reading and saving `.py` notebooks losslessly, edits and what they would do, summaries for prompts.
Above:  kernel, tools, runs, server.   Below: errors, ids.
Never:  running code, processes, model calls, HTTP. Only `marimo_*.py` know marimo.
"""

from cellwright.notebook.atomic import SavePoint
from cellwright.notebook.dataflow import CodeProblem, Cycle, Graph, Node
from cellwright.notebook.document import DEFAULT_NAME, SETUP_ID, AppOption, Cell, CellConfig, Document
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.edits import (
    After,
    AtEnd,
    AtStart,
    Before,
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    EditRefused,
    MoveCell,
    Place,
    RenameCell,
    apply_edits,
    restore_edits,
)
from cellwright.notebook.files import MAX_NOTEBOOK_BYTES, NotebookFile, SaveConflict, new, read, save
from cellwright.notebook.foresight import Consequences, LostName, foresee
from cellwright.notebook.marimo_check import Finding, check
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import Outcome, Status, summary
from cellwright.notebook.render import render
from cellwright.notebook.text_budget import clip, estimate_tokens

__all__ = [
    "DEFAULT_NAME",
    "MAX_NOTEBOOK_BYTES",
    "SETUP_ID",
    "After",
    "AppOption",
    "AtEnd",
    "AtStart",
    "Before",
    "Cell",
    "CellConfig",
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
    "Finding",
    "Graph",
    "LostName",
    "MoveCell",
    "Node",
    "NotebookFile",
    "Outcome",
    "Place",
    "RenameCell",
    "SaveConflict",
    "SavePoint",
    "Status",
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
