"""marimo's linter, on a document that is not on disk."""

from __future__ import annotations

import pytest

from cellwright.notebook import CreateCell, Document, EditRefused, Finding, apply_edits, check


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_findings_carry_marimos_stable_codes() -> None:
    codes = ["x = 1", "x = 2", "a = b", "b = a"]
    document = apply_edits(Document.new(), [CreateCell(code=code) for code in codes])
    assert not isinstance(document, EditRefused)
    findings = await check(document)
    assert [(finding.code, finding.severity) for finding in findings] == [("MB002", "breaking"), ("MB003", "breaking")]
    assert all(isinstance(finding, Finding) and finding.line > 0 for finding in findings)


async def test_a_clean_notebook_has_no_findings() -> None:
    document = apply_edits(Document.new(), [CreateCell(code="x = 1")])
    assert not isinstance(document, EditRefused)
    assert await check(document) == []
