"""Within a version of the API nothing breaks for clients: what would is found against the document that is kept."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellwright.server.http.addresses import API
from cellwright.server.http.auth.middleware import API_VERSION
from tests.server.http.api_changes import breaking_changes
from tests.server.http.document import DOCUMENT, document

Json = dict[str, Any]


def kept() -> Json:
    return json.loads(DOCUMENT.read_text())


def test_the_version_stands_in_the_document_in_every_path_and_in_every_answer() -> None:
    found = kept()
    assert found["info"]["version"] == API_VERSION
    assert f"/api/v{API_VERSION}" == API
    assert [path for path in found["paths"] if not path.startswith(f"{API}/")] == []


@pytest.mark.slow
async def test_what_the_server_offers_breaks_nobody_who_was_made_from_the_kept_document(tmp_path: Path) -> None:
    broken = breaking_changes(kept(), await document(tmp_path))
    assert broken == [], (
        "Clients would break. Keep the old way beside the new one, or raise API_VERSION and the prefix API."
    )


def gone(found: Json) -> None:
    del found["paths"][f"{API}/runs"]["post"]


def renamed(found: Json) -> None:
    found["paths"][f"{API}/runs"]["get"]["operationId"] = "runs"


def fewer_fields(found: Json) -> None:
    del found["components"]["schemas"]["RunLine"]["properties"]["goal"]


def more_needed(found: Json) -> None:
    found["components"]["schemas"]["NewRun"]["required"].append("models")


def fewer_words(found: Json) -> None:
    found["components"]["schemas"]["NewRun"]["properties"]["effort"]["enum"].remove("quick")


def another_type(found: Json) -> None:
    found["components"]["schemas"]["RunLine"]["properties"]["seconds"] = {"type": "string"}


def maybe_nothing(found: Json) -> None:
    found["components"]["schemas"]["RunLine"]["properties"]["goal"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}


def needed_parameter(found: Json) -> None:
    said = found["paths"][f"{API}/runs"]["get"]
    said["parameters"].append({"in": "query", "name": "folder", "required": True, "schema": {"type": "string"}})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (gone, f"POST {API}/runs is gone"),
        (renamed, f"GET {API}/runs is called otherwise"),
        (fewer_fields, f"GET {API}/runs: runs: no goal any more"),
        (more_needed, f"POST {API}/runs: needs models"),
        (fewer_words, f"POST {API}/runs: effort: no quick any more"),
        (another_type, f"GET {API}/runs: runs: seconds: string is new"),
        (maybe_nothing, f"GET {API}/runs: runs: goal: null is new"),
        (needed_parameter, f"GET {API}/runs needs folder"),
    ],
)
def test_a_change_that_breaks_clients_is_found(change: Callable[[Json], None], told: str) -> None:
    before, after = kept(), kept()
    change(after)
    assert told in breaking_changes(before, after)
    assert breaking_changes(before, copy.deepcopy(after) | {"info": {"version": "2"}}) == []


def test_what_is_added_breaks_nobody() -> None:
    after = kept()
    after["paths"][f"{API}/weather"] = after["paths"][f"{API}/health"]
    after["components"]["schemas"]["RunLine"]["properties"]["weather"] = {"type": "string"}
    after["components"]["schemas"]["RunLine"]["properties"]["stage"]["enum"].append("celebrate")
    after["components"]["schemas"]["NewRun"]["properties"]["weather"] = {"type": "string"}
    assert breaking_changes(kept(), after) == []
