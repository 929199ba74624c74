"""`cellwright notebook publish --app`: a page that is whole and tells nothing of this machine, or a refusal."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.in_process import run_here
from tests.runs.publish.mirrors import real_mirror, tiny_mirror

if TYPE_CHECKING:
    from playwright.sync_api import Page

HEAD = "import marimo\n\napp = marimo.App()\n\n\n"


def notebook(tmp_path: Path, *cells: tuple[str, str], header: str = "") -> Path:
    blocks = "\n\n".join(
        f"@app.cell\ndef {name}():\n" + "\n".join(f"    {line}" for line in code.split("\n")) + "\n    return\n"
        for name, code in cells
    )
    file = tmp_path / "shown.py"
    file.write_text(header + HEAD + blocks)
    return file


def published(tmp_path: Path, file: Path, *words: str, code: int = 0) -> dict[str, Any]:
    said = run_here(tmp_path / "home", "notebook", "publish", str(file), "--app", "--json", *words, code=code)
    return json.loads(said.stdout)


def test_a_page_is_whole_and_names_what_it_loads_and_no_path_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sales.csv").write_text("city,sold\nOslo,3\n")
    file = notebook(tmp_path, ("load", "import marimo as mo\nimport pandas as pd"), ("shown", "print('here')"))
    view = published(tmp_path, file)
    folder = tmp_path / "shown-app"
    assert (view["packages"], view["public"], view["folder"]) == (["pandas 3.0.2"], ["sales.csv"], str(folder))
    assert view["hosts"] and all("." in host for host in view["hosts"])
    assert (folder / "public" / "sales.csv").read_text() == "city,sold\nOslo,3\n"
    page = (folder / "index.html").read_text()
    assert "print(" in page
    ours = (str(tmp_path).encode(), str(Path.home()).encode() + b"/", sys.prefix.encode(), sys.base_prefix.encode())
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert len(files) > 2
    telling = [(str(each.relative_to(folder)), path) for each in files for path in ours if path in each.read_bytes()]
    assert telling == []
    assert "exists" in run_here(tmp_path / "home", "notebook", "publish", str(file), "--app", code=2).stderr


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("import torch", "import", "imports torch"),
        slow("import subprocess", "import", "imports subprocess"),
        slow("from cellwright import connection\nconnection('shop')", "connection", "connections and their files stay"),
        slow("key = 'AKIAIOSFODNN7EXAMPLE'", "secret", "looks like a secret"),
        slow("open('data/huge.bin')", "size", "2,048 MB; 50 MB at most"),
        slow("open('data/small.csv')", "data", 'a page has only what is in public/'),
        slow("import beside", "import", "a file beside the notebook"),
    ],
)  # fmt: skip
def test_what_no_page_can_do_is_refused_with_the_cell_named(tmp_path: Path, code: str, kind: str, words: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "small.csv").write_text("a\n1\n")
    (tmp_path / "beside.py").write_text("")
    with (tmp_path / "data" / "huge.bin").open("wb") as stream:
        stream.truncate(2 << 30)
    view = published(tmp_path, notebook(tmp_path, ("fine", "x = 1"), ("culprit", code)), code=3)
    assert [(one["kind"], one["cell"]) for one in view["obstacles"]] == [(kind, "culprit")]
    assert words in view["obstacles"][0]["text"] and view["obstacles"][0]["hint"]
    assert "AKIA" not in json.dumps(view)
    assert not (tmp_path / "shown-app").exists()


@pytest.mark.slow
def test_a_header_that_asks_for_another_version_than_a_page_has_is_refused(tmp_path: Path) -> None:
    header = '# /// script\n# dependencies = ["pandas<2"]\n# ///\n\n'
    view = published(tmp_path, notebook(tmp_path, ("load", "import pandas"), header=header), code=3)
    assert [one["text"] for one in view["obstacles"]] == [
        "In its header it asks for pandas<2, and a page has pandas 3.0.2."
    ]


@pytest.mark.slow
def test_data_with_a_secret_in_it_is_refused_without_repeating_it(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "notes.txt").write_text("key AKIAIOSFODNN7EXAMPLE\n")
    view = published(tmp_path, notebook(tmp_path, ("fine", "x = 1")), code=3)
    assert [one["kind"] for one in view["obstacles"]] == ["secret"]
    assert "AKIA" not in json.dumps(view)


def test_a_page_without_other_hosts_has_the_mirrors_files_beside_it(tmp_path: Path) -> None:
    mirror = tiny_mirror(tmp_path / "mirror")
    view = published(tmp_path, notebook(tmp_path, ("shown", "print('here')")), "--offline", str(mirror))
    folder = tmp_path / "shown-app"
    assert (view["hosts"], view["from_index"], view["offline"]["missing"]) == ([], [], [])
    assert {one.name for one in (folder / "pyodide").iterdir()} == {one.name for one in mirror.iterdir()}
    page = (folder / "index.html").read_text()
    assert 'data-pyodide-index-url="./pyodide/"' in page and "Content-Security-Policy" in page
    assert str(tmp_path) not in page + (folder / "pyodide" / "pyodide-lock.json").read_text()


def test_a_page_is_refused_with_what_its_mirror_lacks_by_name(tmp_path: Path) -> None:
    mirror = tiny_mirror(tmp_path / "mirror")
    (mirror / "pyodide.asm.wasm").unlink()
    file = notebook(tmp_path, ("load", "import pandas"))
    view = published(tmp_path, file, "--offline", str(mirror), code=3)
    assert view["offline"]["missing"] == ["pyodide.asm.wasm"]
    assert next(one["requirement"] for one in view["offline"]["unmet"]) == "pandas"
    assert {one["kind"] for one in view["obstacles"]} == {"mirror"}
    assert not (tmp_path / "shown-app").exists()


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["vertical", "grid", "slides"])
def test_an_opened_page_asks_only_the_hosts_that_were_named(tmp_path: Path, layout: str) -> None:
    view = published(tmp_path, notebook(tmp_path, ("load", "import pandas")), "--layout", layout)
    with opened(Path(view["folder"])) as (page, asked):
        with page.expect_event("requestfailed", timeout=60_000):
            page.goto("/")
        page.wait_for_selector("#root *", state="attached")
    assert asked and asked <= set(view["hosts"])


@pytest.mark.slow
def test_an_opened_page_runs_its_cells_and_asks_no_other_host_at_all(tmp_path: Path) -> None:
    """With Pyodide's own core and wheels; what its cells ask of other hosts is refused before it is sent."""
    header = '# /// script\n# dependencies = ["humanize"]\n# ///\n\n'
    code = (
        "import importlib.util\nimport sys\nimport urllib.request\nimport dirty_equals\nimport marimo as mo\n"
        "try:\n    urllib.request.urlopen('https://elsewhere.example/')\n"
        "except Exception as error:\n    refused = str(error)\n"
        "header = importlib.util.find_spec('humanize') is not None\n"
        "mo.md(f'{3 == dirty_equals.IsPositive} {header} {2**20:,} on {sys.platform}: {refused} '\n"
        "      '![far](https://elsewhere.example/picture.png)')"
    )
    file = notebook(tmp_path, ("shown", code), header=header)
    view = published(tmp_path, file, "--offline", str(real_mirror(tmp_path / "mirror")))
    with opened(Path(view["folder"])) as (page, asked):
        page.goto("/")
        page.wait_for_selector("text=1,048,576", timeout=240_000)
        said = page.inner_text("#root")
    assert "True True 1,048,576 on emscripten" in said and "This page is offline" in said
    assert (view["hosts"], asked) == ([], set())


@contextmanager
def opened(folder: Path) -> Generator[tuple[Page, set[str]]]:
    """A page of a browser for which there is no other host than this folder's, and the hosts that were asked."""
    from playwright.sync_api import Route, sync_playwright

    asked = set[str]()

    def refuse(route: Route) -> None:
        asked.add(route.request.url.split("/")[2])
        route.abort()

    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"127.0.0.1:{server.server_port}"
        browser = driver.chromium.launch(executable_path="/usr/lib/chromium/chromium", args=["--no-sandbox"])
        context = browser.new_context(base_url=f"http://{here}")
        context.route(lambda url: here not in url, refuse)
        yield context.new_page(), asked
        browser.close()
        server.shutdown()
