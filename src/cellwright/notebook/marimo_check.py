"""marimo's own linter over a document: findings with stable codes, nothing run, nothing written."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

from marimo._ast.parse import parse_notebook
from marimo._lint.diagnostic import Diagnostic
from marimo._lint.rule_engine import RuleEngine

from cellwright.notebook.document import Document
from cellwright.notebook.render import render

Severity = Literal["breaking", "runtime", "formatting", "wasm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing marimo's linter says about a notebook."""

    code: str
    """Stable: `MB002` is a name defined twice, `MB003` a cycle …"""
    severity: Severity
    message: str
    line: int
    """1-based, in the notebook's text."""


async def check(document: Document) -> list[Finding]:
    """What `marimo check` would say of this document, most severe first."""
    text = render(document)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notebook = parse_notebook(text)
    assert notebook is not None, "a rendered notebook is not empty"
    diagnostics = await RuleEngine.create_default().check_notebook(notebook, text)
    return [_to_finding(diagnostic) for diagnostic in diagnostics]


def _to_finding(diagnostic: Diagnostic) -> Finding:
    line = diagnostic.line if isinstance(diagnostic.line, int) else min(diagnostic.line, default=0)
    severity = diagnostic.severity.value if diagnostic.severity else "formatting"
    return Finding(code=diagnostic.code or "", severity=severity, message=diagnostic.message, line=line)
