"""`cellwright notebook import|export`: notebooks of Jupyter as people write them, proven or named cell by cell."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cellwright.notebook.files import read
from tests.cli.in_process import run_here

WILD = Path(__file__).parents[1] / "app" / "notebooks"


def notebook(*sources: str, counts: list[int] | None = None) -> str:
    cells = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "outputs": [], "source": source,
         "execution_count": counts[at] if counts else at + 1}
        for at, source in enumerate(sources)
    ]  # fmt: skip
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def imported(tmp_path: Path, file: Path, code: int = 1) -> dict[str, Any]:
    said = run_here(tmp_path / "home", "notebook", "import", str(file), "--json", code=code)
    return json.loads(said.stdout)


def verdicts(view: dict[str, Any]) -> list[str]:
    return [cell["verdict"] for cell in view["cells"]]


def test_a_notebook_is_converted_run_in_both_kernels_and_proven_cell_by_cell(tmp_path: Path) -> None:
    file = tmp_path / "small.ipynb"
    file.write_text(notebook("x = [1]", "x.append(2)\nprint(x)", "!echo {x[0]}", "%foo bar", "display(x)"))
    view = imported(tmp_path, file)
    assert verdicts(view) == ["proven", "proven", "proven", "refused", "proven"]
    assert view["cells"][3]["reasons"] == ["`%foo` has no equivalent"]
    assert view["cells"][1]["renamed"] == {"x": "x_2"}
    assert [cell.code for cell in read(tmp_path / "small.py").document.cells][-1] == "x_2"
    before = (tmp_path / "small.py").read_bytes()
    assert "exists" in run_here(tmp_path / "home", "notebook", "import", str(file), code=2).stderr
    assert (tmp_path / "small.py").read_bytes() == before


EXPECTED = {
    "magics": {"proven": 5, "refused": 1, "text": 1},
    "shell": {"proven": 7},
    "display": {"proven": 6},
    "hidden_state": {"proven": 1, "fails in both": 1, "failed": 1},
    "out_of_order": {"proven": 2},
    "widgets": {"proven": 3, "refused": 1},
    "pip_cells": {"proven": 4},
    "global_counter": {"proven": 2},
    "classes": {"proven": 7},
    "async_calls": {"proven": 4},
    "plots": {"proven": 6},
    "mutation": {"proven": 11},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_notebooks_in_the_styles_of_the_wild_are_proven_or_named(tmp_path: Path, name: str) -> None:
    shutil.copy(WILD / f"{name}.ipynb", tmp_path)
    is_whole = set(EXPECTED[name]) <= {"proven", "text"}
    view = imported(tmp_path, tmp_path / f"{name}.ipynb", code=0 if is_whole else 1)
    assert Counter(verdicts(view)) == EXPECTED[name]
    assert all(cell["reasons"] for cell in view["cells"] if cell["verdict"] not in {"proven", "text", "not run"})
    assert read(tmp_path / f"{name}.py").document.cells


@pytest.mark.slow
def test_what_marimo_prints_shorter_is_mended_and_a_time_of_day_proves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "prints.ipynb"
    long = "import pandas as pd\nprint(pd.Series(range(25)))"
    file.write_text(notebook(long, "import time\nat = time.time_ns()\nprint(at)\nprint(1 + 1)"))
    view = imported(tmp_path, file, code=0)
    assert verdicts(view) == ["proven", "proven"]
    assert view["cells"][1]["only_there"] == [
        "`at`, which is another each time",
        "printed lines that are others each time",
    ]
    assert "max_rows = 60" in (tmp_path / "prints.py").read_text()
    assert any("up to 60 rows" in note for note in view["notes"])


@pytest.mark.slow
def test_help_is_read_and_an_image_of_a_file_is_the_same_image(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "docs/images/control-room/run-asks-wide-light.jpg", tmp_path / "a.jpg")
    file = tmp_path / "image.ipynb"
    file.write_text(
        notebook("from IPython.display import Image\nhelp(len)", "Image(filename='a.jpg', embed=True, width=40)")
    )
    view = imported(tmp_path, file, code=0)
    assert verdicts(view) == ["proven", "proven"]
    assert view["cells"][1]["only_there"] == []
    assert "mo.image(src='a.jpg', width=40)" in (tmp_path / "image.py").read_text()


@pytest.mark.slow
def test_what_is_not_there_is_told_once_with_the_command_that_runs_both_with_it(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("")
    file = tmp_path / "imports.ipynb"
    file.write_text(
        notebook(
            "x = 1\nimport nobody_has_this.part",
            "import helpers, sklearn_of_old",
            "y = x",
            "import socket\nsocket.getaddrinfo('example.com', 80)",
        )
    )
    said = run_here(tmp_path / "home", "notebook", "import", str(file), code=1)
    told = " ".join(said.stderr.split())
    assert "Not installed here: nobody_has_this, sklearn_of_old." in told
    assert f"cellwright notebook import {file} -o {tmp_path / 'imports.py'} --replace --with nobody_has_this" in told
    assert "Both were run without a network" in told
    assert "not run here: cell 1, which it needs, failed" in " ".join(said.stdout.split())


@pytest.mark.parametrize("package", ["", "no package!", "../evil", "six @ git+file:///evil"])
def test_what_is_no_package_is_refused_before_anything_runs(tmp_path: Path, package: str) -> None:
    file = tmp_path / "named.ipynb"
    file.write_text(notebook("1"))
    said = run_here(tmp_path / "home", "notebook", "import", str(file), "--with", package, code=2)
    assert f"{package!r} is not a package name with versions." in " ".join(said.stderr.split())
    assert "running" not in said.stderr and not list(tmp_path.glob("*.py"))


@pytest.mark.slow
def test_a_package_that_is_named_is_in_the_header_and_there_for_both(tmp_path: Path) -> None:
    file = tmp_path / "named.ipynb"
    file.write_text(notebook("import six\nsix.PY3"))
    said = run_here(tmp_path / "home", "notebook", "import", str(file), "--with", "six", "--json")
    view = json.loads(said.stdout)
    assert (verdicts(view), view["requirements"]) == (["proven"], ["six"])
    assert '#     "six",' in (tmp_path / "named.py").read_text()


@pytest.mark.slow
def test_cells_that_were_executed_in_another_order_are_told(tmp_path: Path) -> None:
    file = tmp_path / "order.ipynb"
    file.write_text(notebook("a = 1", "b = a", counts=[7, 3]))
    assert "executed in another order" in imported(tmp_path, file, code=0)["notes"][0]


@pytest.mark.slow
def test_a_notebook_in_another_language_or_none_at_all_is_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "bad.ipynb").write_text('{"cells": 3}')
    (tmp_path / "r.ipynb").write_bytes((WILD / "r_notebook.ipynb").read_bytes())
    for name, words in (("bad", "has no list of cells"), ("r", "is in 'r'"), ("missing", "There is no notebook")):
        said = run_here(tmp_path / "home", "notebook", "import", str(tmp_path / f"{name}.ipynb"), code=2)
        assert words in said.stderr
    assert not list(tmp_path.glob("*.py"))


@pytest.mark.slow
def test_without_jupyter_a_notebook_is_converted_and_nothing_is_called_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jupyter_client", None)
    file = tmp_path / "small.ipynb"
    file.write_text(notebook("x = 1", "x"))
    view = imported(tmp_path, file)
    assert (verdicts(view), view["original_ran"]) == (["not run", "not run"], False)
    assert "pip install 'cellwright[jupyter]'" in view["notes"][0]
    assert (tmp_path / "small.py").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [("import os\nos._exit(3)", "the kernel ended"), ("while True: pass", "no more time")],
)
def test_an_original_that_ends_its_kernel_or_never_ends_is_a_value(tmp_path: Path, cell: str, words: str) -> None:
    file = tmp_path / "bad.ipynb"
    file.write_text(notebook("x = 1", cell, "x"))
    said = run_here(tmp_path / "home", "notebook", "import", str(file), "--json", "--timeout", "20", code=1)
    view = json.loads(said.stdout)
    assert verdicts(view)[1:] == ["not run", "not run"]
    assert any(words in note for note in view["notes"])


@pytest.mark.slow
def test_an_exported_notebook_runs_equal_in_nbclient(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    source = tmp_path / "shown.py"
    file = tmp_path / "shown.ipynb"
    file.write_text(
        notebook("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})", "df['b'] = df.a * 2\ndf", "print('hi')\n3")
    )
    imported(tmp_path, file, code=0)
    run_here(tmp_path / "home", "notebook", "export", str(source), "--ipynb", "-o", str(tmp_path / "out.ipynb"))
    delivered = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    nbformat.validate(delivered)
    fresh: Any = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    again = NotebookClient(fresh, timeout=60).execute()

    def shown(one: Any) -> list[Any]:
        return [
            (output.output_type, output.get("text"), dict(output.get("data", {})))
            for cell in one.cells
            if cell.cell_type == "code"
            for output in cell.outputs
        ]

    assert shown(again) == shown(nbformat.read(tmp_path / "out.ipynb", as_version=4))
    assert len(shown(again)) == 3


@pytest.mark.slow
def test_a_goal_on_a_notebook_of_jupyter_imports_it_first_and_never_writes_over_one(tmp_path: Path) -> None:
    file, home = tmp_path / "birds.ipynb", tmp_path / "home"
    file.write_text(notebook("import pandas as pd\nbirds = pd.read_csv('birds.csv')", "len(birds)"))
    (tmp_path / "birds.csv").write_text("kind,grams\ntit,11\nowl,400\n")
    goal = ("run", "How many rows are there?", "--data", "birds.csv", "--model", "analyst", "--notebook", file.name)
    said = run_here(home, *goal, "--project", ".", "--json", folder=tmp_path, code=None)
    assert "birds.ipynb became birds.py: 2 of 2 cells proven" in said.stderr
    assert "cellwright notebook export birds.py --ipynb" in said.stderr
    codes = [cell.code for cell in read(tmp_path / "birds.py").document.cells]
    assert "len(birds)" in codes
    assert "birds.py" in run_here(home, *goal, folder=tmp_path, code=2).stderr
    run_here(
        home, "notebook", "export", str(tmp_path / "birds.py"), "--ipynb", "-o", str(tmp_path / "back.ipynb"), code=None
    )
    assert json.loads((tmp_path / "back.ipynb").read_text())["cells"]
