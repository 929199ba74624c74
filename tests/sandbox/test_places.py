"""Every place in the documentation's table gives the tier it says, with its reason, and runs a notebook there."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import notebook_source
from tests.sandbox.containers import FIRST_ID, REPOSITORY, Container
from tests.sandbox.places import COMMAND, DOCUMENT, PLACES, Row, probed, row, run, table_in

NOTEBOOK = "examples/penguins.py"
EXAMPLES = REPOSITORY / "examples"


def test_the_documentations_table_has_every_place_once() -> None:
    assert [line.split(" | ")[0].removeprefix("| ") for line in table_in(DOCUMENT.read_text("utf-8"))] == list(PLACES)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_a_place_gives_the_tier_its_row_says_with_the_reason_and_the_cure(place: str) -> None:
    report = probed(place)
    assert str(row(place, report)) in table_in(DOCUMENT.read_text("utf-8"))
    # One for each better tier: never check marks alone beside a tier that is not the best.
    assert [told["tier"] for told in report["obstacles"]] == [tier for tier in "ABC" if tier < report["tier"]]
    namespaces = next(found for found in report["protections"] if found["name"] == "namespaces")
    assert namespaces["present"] is (report["tier"] == "B")


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_the_readmes_notebook_runs_in_a_checkout_with_its_environment_wherever_it_can_be_contained(place: str) -> None:
    ran = run(place, "notebook", "run", NOTEBOOK, "--json")
    tier = next(
        line.split(" | ")[1] for line in table_in(DOCUMENT.read_text("utf-8")) if line.startswith(f"| {place} |")
    )
    if tier == "D":
        assert (ran.returncode, ran.stdout) == (3, "")
        assert "Nothing would contain the notebook's code (tier D)." in " ".join(ran.stderr.split())
        return
    result = json.loads(ran.stdout)
    assert (result["ok"], result["sandbox"]["tier"], result["files"]) == (True, tier, []), ran.stderr
    assert ".venv" in result["sandbox"]["left_out"] or tier == "B"
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        "a user of the machine",
        "Docker's defaults, as root",
        "Docker's defaults, as a user",
        "Podman without root, `unmask=ALL`",
        "Kubernetes, restricted",
    ],
)
def test_the_readmes_goal_is_answered_and_proven_in_a_git_checkout_wherever_it_can_be_contained(
    place: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    installed = project / ".venv" / "lib" / "a package.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("as it was")
    (project / ".gitignore").write_text(".venv/\n")
    subprocess.run(["git", "init", "--quiet", project], check=True)
    own_everything(tmp_path, PLACES[place])
    # Whoever made this folder keeps others out of those above it; the container has them anew.
    environment = {"CELLWRIGHT_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    container = replace(PLACES[place], work=tmp_path, environment=environment)
    data = [word for name in ("orders", "customers") for word in ("--data", str(EXAMPLES / f"data/{name}.csv"))]
    words = ["run", "Why did revenue fall in Q3 2025?", *data, "--project", ".", "--model", "analyst", "--json"]
    ran = container.run([COMMAND, *words], cwd=str(project))
    assert ran.returncode == 0, ran.stderr
    delivery = json.loads(ran.stdout.splitlines()[-1])
    assert (delivery["status"], delivery["problems"]) == ("done", [])
    assert delivery["checks"] and all(check["has_passed"] for check in delivery["checks"])
    assert (project / Path(delivery["notebook"]).name).is_file()
    assert [path.relative_to(project) for path in (project / ".venv").rglob("*")] == [
        Path(".venv/lib"),
        Path(".venv/lib/a package.py"),
    ]
    report = next(project.glob("*.report.html")).read_text(encoding="utf-8")
    assert report.count("data:image/svg+xml") >= 4
    assert "open the notebook to see it" not in report


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        "a user of the machine",
        "Docker's defaults, as root",
        "Docker's defaults, as a user",
        "Docker, the calls below allowed, `systempaths=unconfined`",
        "Podman without root, `unmask=ALL`",
    ],
)
def test_a_volume_mounted_inside_a_project_is_read_and_written_in_every_kind_of_container(
    place: str, tmp_path: Path
) -> None:
    container = PLACES[place]
    project, volume = tmp_path / "project", tmp_path / "volume"
    cell = 'from pathlib import Path\nPath("data/new.csv").write_text(Path("data/rows.csv").read_text() * 2)'
    for path, text in {"project/notebook.py": notebook_source(cell), "volume/rows.csv": "a\n1\n"}.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    (project / "data").mkdir()
    own_everything(tmp_path, container)
    environment = {"CELLWRIGHT_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    inside = replace(container, work=tmp_path, volume=(volume, project / "data"), environment=environment)
    ran = inside.run([COMMAND, "notebook", "run", "notebook.py", "--json"], cwd=str(project))
    assert ran.returncode == 0, ran.stderr
    assert [(file["path"], file["kept"]) for file in json.loads(ran.stdout)["files"]] == [("data/new.csv", True)]
    assert (volume / "new.csv").read_text() == "a\n1\n" * 2
    assert list((project / "data").iterdir()) == []


def own_everything(folder: Path, container: Container) -> None:
    """Whoever runs in the container owns a folder and all in it, by the ids that count out here."""
    owner = FIRST_ID + container.uid if container.ids else container.uid
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner, owner)


@pytest.mark.slow
def test_doctor_tells_reason_and_cure_in_words_and_as_json() -> None:
    place = "Docker's defaults, as a user"
    said, found = run(place, "doctor"), json.loads(run(place, "doctor", "--json").stdout)
    told = Row(place, "C", found["sandbox"]["obstacles"][-1]["reason"], found["sandbox"]["obstacles"][-1]["cure"])
    assert str(told) in table_in(DOCUMENT.read_text("utf-8"))
    words = " ".join(said.stdout.split())
    assert f"✗ sandbox: tier B: {told.reason}" in words
    assert " ".join(told.cure.split()) in words
    assert {"name": "sandbox: tier B", "ok": False, "detail": told.reason, "consequence": told.cure} in found["checks"]
    assert (said.returncode, found["ok"]) == (0, True)


@pytest.mark.slow
def test_who_has_no_home_to_write_to_is_told_what_to_set() -> None:
    container = PLACES["Docker's defaults, as a user"]
    ran = container.run([COMMAND, "notebook", "run", NOTEBOOK], cwd=str(DOCUMENT.parents[1]))
    assert ran.returncode == 2
    assert "hint: Set CELLWRIGHT_HOME to a directory of your own." in " ".join(ran.stderr.split())
