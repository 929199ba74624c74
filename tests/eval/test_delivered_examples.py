"""What the analyst delivered for the bundled examples runs anywhere, and holds what was planted and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from eval.examples import BUNDLED, EXAMPLES, Example

PLANTED: Final[dict[str, list[dict[str, Any]]]] = json.loads(
    (EXAMPLES / "data/planted.json").read_text(encoding="utf-8")
)
RUN: Final = """
import json, runpy
app = runpy.run_path("NOTEBOOK")["app"]
_, defined = app.run()
tests = defined["tests"]
print(json.dumps({"answer": defined["answer_text"], "tests": json.loads(tests.to_json(orient="records"))}))
"""


@cache
def shop_tests(folder: Path) -> dict[str, Any]:
    """What the long notebook of the shop computes, in a process and a copy of its own."""
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__*__"))
    program = RUN.replace("NOTEBOOK", str(folder / "examples/shop_in_full/shop_in_full.py"))
    ran = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return shop_tests(tmp_path_factory.mktemp("shop"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name in BUNDLED if name != "shop_in_full"],
)
def test_a_delivered_notebook_runs_as_a_plain_script(name: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__*__"))
    script = tmp_path / f"examples/{name}/{name}.py"
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_a_delivered_answer_is_short_and_clean_for_other_peoples_tools() -> None:
    notebook = EXAMPLES / "shop/shop.py"
    text = notebook.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    assert text.count("@app.cell") + text.count("@app.function") <= 40
    # An empty `return` at the end of a cell is how marimo writes it.
    checked = [sys.executable, "-m", "ruff", "check", "--isolated", "--ignore", "PLR1711", str(notebook)]
    ran = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    checked = [sys.executable, "-m", "marimo", "check", "--strict", str(notebook)]
    ran = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(("name", "example"), BUNDLED.items(), ids=list(BUNDLED))
def test_an_example_is_documented_with_its_goal_and_has_its_report(name: str, example: Example) -> None:
    row = next(
        line for line in (EXAMPLES / "README.md").read_text(encoding="utf-8").splitlines() if f"`{name}/`" in line
    )
    assert example.goal in row
    assert all(Path(path).name in row for path in example.data)
    assert (EXAMPLES / name / f"{name}.report.html").is_file()


def rows(shop: dict[str, Any], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """The tests of this kind on these two columns, whichever table they were made on."""
    return [
        row
        for row in shop["tests"]
        if row["kind"] == wanted["kind"] and {row["y"], row["x"]} == {wanted["y"], wanted["x"]}
    ]


@pytest.mark.slow
@pytest.mark.parametrize("effect", PLANTED["effects"], ids=lambda effect: effect["name"])
def test_a_planted_effect_is_found(shop: dict[str, Any], effect: dict[str, Any]) -> None:
    assert any(row["is_finding"] for row in rows(shop, effect)), rows(shop, effect)


@pytest.mark.slow
@pytest.mark.parametrize("claim", PLANTED["nothing"], ids=lambda claim: claim["name"])
def test_what_is_not_there_is_not_claimed(shop: dict[str, Any], claim: dict[str, Any]) -> None:
    assert [row for row in rows(shop, claim) if row["is_finding"]] == []


@pytest.mark.slow
def test_the_answer_names_what_was_planted_as_the_cause(shop: dict[str, Any]) -> None:
    change = next(effect for effect in PLANTED["effects"] if effect["kind"] == "change")
    assert [value for value in change["because"].values() if value not in shop["answer"]] == []
