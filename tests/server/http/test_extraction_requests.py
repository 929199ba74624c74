"""An extraction is begun over the API as at a terminal, with documents inside the folder and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cellwright.errors import RefusedByPolicy, UserError
from cellwright.runs.goal.extraction_order import ExtractedField, ExtractionOrder
from cellwright.runs.goal.goal import Goal
from cellwright.server.http.routes.runs import goal_of_request
from cellwright.server.http.schemas.runs import NewRun
from cellwright.server.mcp.tool_texts import TOOLS


def goal_of(folder: Path, **extract: object) -> Goal:
    asked = NewRun.model_validate({"goal": "Extract", "models": ["near:one"], "extract": extract})
    return goal_of_request(asked, folder, "ada", (), {})


def test_a_request_names_fields_and_documents_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "fields.toml").write_text('party = "text"')
    typed = goal_of(tmp_path, fields="party, amount:number", documents=["papers"], readings=2)
    filed = goal_of(tmp_path, fields="fields.toml", documents=["papers"])
    party, papers = ExtractedField(name="party"), (str(tmp_path / "papers"),)
    assert typed.extraction == ExtractionOrder(
        fields=(party, ExtractedField(name="amount", type="number")), documents=papers, readings=2
    )
    assert filed.extraction == ExtractionOrder(fields=(party,), documents=papers)


@pytest.mark.parametrize(
    "extract",
    [
        {"fields": "party", "documents": ["../elsewhere"]},
        {"fields": "party", "documents": ["/etc/passwd"]},
        {"fields": "../secret.json", "documents": ["."]},
    ],
)
def test_what_lies_outside_the_folder_is_refused(tmp_path: Path, extract: dict[str, object]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "secret.json").write_text('{"a": "text"}')
    with pytest.raises((RefusedByPolicy, UserError)) as raised:
        goal_of(folder, **extract)
    assert "secret" not in raised.value.hint


def test_a_tool_of_mcp_says_the_whole_shape_of_an_extraction() -> None:
    start = next(tool for tool in TOOLS if tool.name == "start_run")
    told = json.dumps(start.schema)
    assert "$ref" not in told
    assert '"has_many_rows"' in told
