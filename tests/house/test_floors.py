"""The floors and doorkeepers would break if somebody broke them; that they hold is what `make check` asks of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.doorkeeper import imported_names
from tests.house.places import ROOT, VENV_BIN, read_toml
from tests.sampling import spread

CONTRACTS: list[str] = [
    contract["name"] for contract in read_toml(ROOT / "pyproject.toml")["tool"]["importlinter"]["contracts"]
]

BROKEN = {
    "Imports only go down": {
        "cellwright/notebook/__init__.py": "def later():\n    from cellwright.kernel import Kernel\n",
        "cellwright/kernel/__init__.py": "class Kernel: ...\n",
    },
    "No import circles in any room": {
        "cellwright/kernel/branch.py": "if TYPE_CHECKING:\n    from cellwright.kernel.session import Session\n",
        "cellwright/kernel/session.py": "def later():\n    from cellwright.kernel import branch\n",
    },
    "The wall: the guest knows nothing of the host": {
        "cellwright_guest/driver.py": "def later():\n    import cellwright.ids\n",
    },
    "What notebooks write knows nothing of host and guest": {
        "cellwright_cells/connections.py": "def later():\n    import cellwright.ids\n",
    },
    "The wall: only kernel/ speaks to the guest": {
        "cellwright/app.py": "if TYPE_CHECKING:\n    from cellwright_guest import wire\n",
    },
    "Only five packages import marimo": {
        "cellwright/notebook/document.py": "def later():\n    from marimo._ast import app\n",
    },
    "Provider SDKs and pydantic-ai's models only in models/": {
        "cellwright/agents/__init__.py": "from pydantic_ai import (\n    messages,\n    models,\n)\n",
    },
    "pydantic-ai's message types only in models/, agents/ and tools/": {
        "cellwright/runs/__init__.py": "from pydantic_ai.messages import ModelRequest\n",
    },
    "dbos only in journal/": {
        "cellwright/runs/steps.py": "import dbos\n",
    },
    "Database drivers for our own state only in journal/, models/money/ and memory/store.py": {
        "cellwright/models/__init__.py": "import sqlite3\n",
    },
    "Drivers of a person's databases only in data/worker/": {
        "cellwright/data/connections.py": "import adbc_driver_postgresql\n",
    },
    "Libraries of buckets and file servers only in data/file_stores/": {
        "cellwright/data/worker/conversation.py": "def later():\n    import obstore\n",
    },
    "pydantic-monty only in tools/actions/": {
        "cellwright/tools/__init__.py": "import importlib\nmonty = importlib.import_module('pydantic_monty')\n",
    },
    "h11 only in http_heads, sandbox/egress/ and data/web_worker/": {
        "cellwright/sandbox/__init__.py": "import h11\n",
    },
    "vl-convert only in the guest's drawing program": {
        "cellwright/kernel/process/chart_cage.py": "def later():\n    import vl_convert\n",
    },
    "pypdfium2 only in the guest's reading program": {
        "cellwright/kernel/documents.py": "def later():\n    import pypdfium2\n",
    },
    "fastapi and starlette only in server/, models/gateway/ and testing/": {
        "cellwright/models/client/gateway_client.py": "from starlette.requests import Request\n",
    },
    "Jupyter's packages only in the guest's programs for it": {
        "cellwright/kernel/jupyter.py": "import jupyter_client\n",
        "cellwright_guest/driver.py": "import zmq\n",
    },
    "mcp only in server/mcp/ and tools/mcp/": {
        "cellwright/server/http/resources.py": "import mcp_types\n",
    },
    "acp only in server/acp/": {
        "cellwright/server/mcp/tools.py": "from acp import schema\n",
    },
    "typer and rich only in cli/": {
        "cellwright/server/__init__.py": "from rich.console import Console\n",
    },
}
"""For each contract, modules that break it and no other."""

DOORS = {
    "cellwright/cli/__init__.py": "import typer, rich.console\nfrom cellwright.app import open_notebook\n",
    "cellwright/app.py": "from cellwright.kernel import Kernel\ndef open_notebook(): ...\n",
    "cellwright/kernel/__init__.py": "import cellwright_guest.wire, cellwright.sandbox\nclass Kernel: ...\n",
    "cellwright/sandbox/__init__.py": "from cellwright.notebook import marimo_file\n",
    "cellwright/sandbox/egress/__init__.py": "import h11\n",
    "cellwright/tools/actions/__init__.py": "import pydantic_monty\n",
    "cellwright/notebook/__init__.py": "from cellwright import ids\n",
    "cellwright/notebook/marimo_file.py": "import marimo._ast.app\n",
    "cellwright/models/__init__.py": "import anthropic\nfrom pydantic_ai.models import Model\n",
    "cellwright/models/money/ledger.py": "import sqlite3\n",
    "cellwright/models/gateway/__init__.py": "import starlette.applications\n",
    "cellwright/journal/__init__.py": "import dbos, sqlite3\n",
    "cellwright/data/worker/mysql.py": "import pymysql\n",
    "cellwright_guest/driver.py": (
        "from marimo._runtime import runtime\nfrom cellwright_guest import wire\nimport cellwright_cells\n"
    ),
    "cellwright_guest/chart_main.py": "import vl_convert\n",
    "cellwright_guest/reading/pdf.py": "import pypdfium2\n",
}


def build(folder: Path, written: dict[str, str]) -> Path:
    """A copy of this house's rules over a small tree of our own."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests/house").mkdir(parents=True)
    for contract in ("doorkeeper.py", "circles.py"):
        shutil.copy(ROOT / "tests/house" / contract, folder / "tests/house")
    ground = {
        "cellwright/__init__.py": "",
        "cellwright/errors.py": "from cellwright import ids\n",
        "cellwright/ids.py": "",
        "cellwright_cells/__init__.py": "",
        "cellwright_guest/__init__.py": "",
        "cellwright_guest/wire.py": "",
    }
    for name, text in (ground | written).items():
        path = folder / "src" / name
        for package in (parent for parent in path.parents if (folder / "src") in parent.parents):
            package.mkdir(parents=True, exist_ok=True)
            (package / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    return folder


def verdicts(folder: Path, source: Path) -> dict[str, str]:
    """KEPT or BROKEN for each contract, as `lint-imports` prints it."""
    ran = subprocess.run(
        [VENV_BIN / "lint-imports", "--no-logo", "--no-cache"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(source), "COLUMNS": "300", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, str] = dict(re.findall(r"^(.+) (KEPT|BROKEN)\b", ran.stdout, flags=re.MULTILINE))
    assert list(found) == CONTRACTS, ran.stdout + ran.stderr
    assert (ran.returncode == 0) == (set(found.values()) == {"KEPT"})
    return found


def test_every_contract_has_a_sample_that_breaks_it() -> None:
    assert list(BROKEN) == CONTRACTS


@pytest.mark.parametrize("contract", spread(CONTRACTS, 4))
def test_breaking_a_rule_breaks_its_contract_and_no_other(contract: str, tmp_path: Path) -> None:
    found = verdicts(build(tmp_path, BROKEN[contract]), tmp_path / "src")
    assert {name for name, verdict in found.items() if verdict == "BROKEN"} == {contract}


def test_a_module_that_stands_on_no_floor_breaks_the_floors(tmp_path: Path) -> None:
    found = verdicts(build(tmp_path, {"cellwright/gadgets.py": ""}), tmp_path / "src")
    assert found["Imports only go down"] == "BROKEN"


def test_rooms_on_one_floor_never_import_each_other(tmp_path: Path) -> None:
    written = {"cellwright/journal/__init__.py": "import cellwright.policy\n", "cellwright/policy/__init__.py": ""}
    assert verdicts(build(tmp_path, written), tmp_path / "src")["Imports only go down"] == "BROKEN"


def test_the_doors_may_import_what_they_guard(tmp_path: Path) -> None:
    assert set(verdicts(build(tmp_path, DOORS), tmp_path / "src").values()) == {"KEPT"}


def test_an_import_counts_wherever_it_stands() -> None:
    source = """
import a.b as c
from d import e
from . import sibling
if TYPE_CHECKING:
    import f
def later():
    from g.h import (
        i,
        j,
    )
    importlib.import_module("k.l")
    __import__("m")
"""
    assert [name for name, _ in sorted(imported_names(source))] == ["a.b", "d.e", "f", "g.h.i", "g.h.j", "k.l", "m"]
