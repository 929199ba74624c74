"""`cellwright data profile` and `data examples`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.in_process import run_here
from tests.house.places import ROOT

HENS = "day,eggs,barn\n" + "".join(f"2024-01-{day:02},{day % 7 + 3},{'AB'[day % 2]}\n" for day in range(1, 31))


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "farm"
    folder.mkdir()
    (folder / "hens.csv").write_text(HENS)
    (folder / "barns.csv").write_text("barn,built\nA,1990\nB,2004\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow
def test_a_person_sees_columns_and_what_they_are(farm: Path, tmp_path: Path) -> None:
    said = run_here(tmp_path / "home", "data", "profile", "hens.csv")
    assert "hens.csv, csv: 30 rows, 3 columns" in said.stdout
    assert "2024-01-01 to 2024-01-30" in said.stdout
    assert any(line.split()[:2] == ["eggs", "integer,"] for line in said.stdout.splitlines()), said.stdout
    assert said.stderr == ""


@pytest.mark.slow
def test_a_program_gets_everything_as_json(farm: Path, tmp_path: Path) -> None:
    said = run_here(tmp_path / "home", "data", "profile", "hens.csv", str(farm / "barns.csv"), "--json")
    profile = json.loads(said.stdout)
    assert [table["reading"]["path"] for table in profile["tables"]] == ["hens.csv", str(farm / "barns.csv")]


def test_a_path_that_is_not_there_ends_with_2_and_a_hint(farm: Path, tmp_path: Path) -> None:
    said = run_here(tmp_path / "home", "data", "profile", "hens.csv", "gone.csv", code=2)
    assert "Nothing at 'gone.csv'" in said.stderr
    assert "hint:" in said.stderr
    assert said.stdout == ""


def test_where_nothing_can_be_read_it_ends_with_1_and_says_why(farm: Path, tmp_path: Path) -> None:
    (farm / ".env").write_text("KEY=1\n")
    (farm / "empty").mkdir()
    said = run_here(tmp_path / "home", "data", "profile", ".env", "empty", code=1)
    assert "not read: .env (it looks like a secret and is not opened)" in said.stderr
    assert "not read: empty (no data file is in this folder)" in said.stderr


@pytest.mark.slow
def test_large_tables_are_sampled_as_far_as_one_says(farm: Path, tmp_path: Path) -> None:
    said = run_here(tmp_path / "home", "data", "profile", "hens.csv", "--rows", "10", "--json")
    [table] = json.loads(said.stdout)["tables"]
    assert table["rows"] == 30
    assert table["looked_at"] <= 10
    assert table["sampling"]


@pytest.mark.slow
def test_names_in_a_file_cannot_write_to_the_terminal(farm: Path, tmp_path: Path) -> None:
    (farm / "bad.csv").write_text('"a\x1b[2J",[bold]b\n1,2\n3,4\n5,6\n')
    said = run_here(tmp_path / "home", "data", "profile", "bad.csv")
    assert "\x1b[2J" not in said.stdout
    assert "[bold]b" in said.stdout


def test_a_bundled_data_set_is_copied_with_a_command_that_asks_something_of_it(farm: Path, tmp_path: Path) -> None:
    listed = run_here(tmp_path / "home", "data", "examples")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["shop", "penguins"]
    said = run_here(tmp_path / "home", "data", "examples", "shop")
    assert said.stdout.split() == ["data/orders.csv", "data/customers.csv"]
    assert "cellwright run 'Why did revenue fall in Q3 2025?' --data data/orders.csv" in said.stderr
    assert (farm / "data/orders.csv").read_bytes() == (ROOT / "examples/data/orders.csv").read_bytes()


def test_a_data_set_is_copied_beside_a_file_of_its_name_never_over_it(farm: Path, tmp_path: Path) -> None:
    (farm / "data").mkdir()
    (farm / "data/penguins.csv").write_text("mine\n")
    said = run_here(tmp_path / "home", "data", "examples", "penguins", "--into", str(farm), "--json")
    copied = str(farm / "data/penguins-2.csv")
    question = ["cellwright", "run", "Compare body_mass_g by species", "--data", copied, "--model", "analyst"]
    assert json.loads(said.stdout) == {"files": [copied], "command": question}
    assert (farm / "data/penguins.csv").read_text() == "mine\n"
    assert (
        json.loads(run_here(tmp_path / "home", "data", "examples", "--json").stdout)["examples"][1]["id"] == "penguins"
    )


def test_an_unknown_data_set_ends_with_2_and_the_names_there_are(farm: Path, tmp_path: Path) -> None:
    assert "There is: shop, penguins." in run_here(tmp_path / "home", "data", "examples", "ships", code=2).stderr
