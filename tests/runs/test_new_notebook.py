"""A new notebook: one cell for all data, a title that is only words, a file that replaces nothing, copied data."""

from __future__ import annotations

import html
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.app.notebooks import Files
from cellwright.data.files import DataFile, parse_data, place_data
from cellwright.errors import UserError
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import read
from cellwright.notebook.marimo_check import check
from cellwright.notebook.marimo_file import parse_notebook
from cellwright.notebook.source_text import variable_name
from cellwright.runs.deliver.data_copies import copy_data
from cellwright.runs.goal.new_notebook import (
    DATA_CELL,
    create_if_missing,
    new_notebook_text,
    title_code,
    title_line,
)

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


def data_file(name: str, place: str | None = None, *, is_folder: bool = False) -> DataFile:
    where = place or f"data/{name}"
    source = Path("/x") / name
    return DataFile(name=name, place=where, target=where, source=source, is_outside=place is None, is_folder=is_folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


# ── its text ──


def test_a_new_notebook_reaches_all_its_data_through_one_cell() -> None:
    data = [data_file("sales.csv", "sales.csv"), data_file("Q3 targets.xlsx")]
    assert new_notebook_text("Why did revenue fall?", data) == snapshot(
        '''\
import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Why did revenue fall?")


@app.cell
def imports():
    import marimo as mo

    return (mo,)


@app.cell(hide_code=True)
def title(mo):
    mo.md(r"""
    # Why did revenue fall?
    """)
    return


@app.cell
def data_files(mo):
    # Every data file is reached through this cell: when files move, only this cell changes.
    data_folder = mo.notebook_dir()
    sales_csv = data_folder / "sales.csv"
    q3_targets_xlsx = data_folder / "data/Q3 targets.xlsx"
    return


if __name__ == "__main__":
    app.run()
'''
    )


def test_without_a_title_or_data_there_is_only_the_import() -> None:
    document = parse_notebook(new_notebook_text("", []), "new")
    assert [cell.name for cell in document.cells] == ["imports"]
    assert document.options == {}


async def test_marimo_has_nothing_to_say_about_a_new_notebook() -> None:
    assert await check(parse_notebook(new_notebook_text("A title", [data_file("sales.csv")]), "new")) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sales.csv", "sales_csv"),
        ("Sales Q3 (final).CSV", "sales_q3_final_csv"),
        ("2024.csv", "data_2024_csv"),
        ("class", "class_file"),
        ("_hidden.csv", "hidden_csv"),
        (".env", "env_file"),
        ("Übersicht Köln.parquet", "übersicht_köln_parquet"),
        ("売上.csv", "売上_csv"),
        ("🎉.csv", "csv"),
        ("🎉", "file"),
        ("ﬁle①.csv", "file1_csv"),
        ("a" * 300 + ".csv", "a" * 60),
        ("x\ny.csv", "x_y_csv"),
        ("mo", "mo_file"),
        ("İstanbul.csv", "i̇stanbul_csv"),
    ],
)
def test_a_file_gets_a_variable_people_can_read(name: str, expected: str) -> None:
    assert variable_name(name) == expected


def test_a_folder_and_a_file_without_an_ending_say_what_they_are() -> None:
    assert variable_name("raw", is_folder=True) == "raw_folder"
    assert variable_name("v1.2", is_folder=True) == "v1_2_folder"
    assert variable_name("sales") == "sales_file"


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=30), max_size=8))
def test_whatever_files_are_called_every_variable_is_valid_and_its_own(names: list[str]) -> None:
    taken: set[str] = set()
    for name in names:
        variable = variable_name(name, taken=taken)
        assert variable.isidentifier() and variable not in taken and not variable.startswith("_")
        taken.add(variable)


@settings(deadline=None)
@given(
    st.text(max_size=200), st.lists(st.text(min_size=1, max_size=20).filter(lambda name: "/" not in name), max_size=3)
)
def test_whatever_words_go_in_a_notebook_comes_out_that_reads_back(title: str, names: list[str]) -> None:
    document = parse_notebook(new_notebook_text(title, [data_file(name) for name in names]), "new")
    assert [cell.name for cell in document.cells if cell.name != "title"] == [
        "imports",
        *([DATA_CELL] if names else []),
    ]


# ── a title is only words ──

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "Costs rose from $5 to $10",
    r"\[ x^2 \] and \( y \)",
    "[click](javascript:alert(1))",
    "*bold* _it_ `code` ~~gone~~ #1 | a {b}",
    '"""\n) or exit()',
    "&lt;script&gt;",
    "{mo.md('x')}",
]


async def test_a_title_shows_its_words_and_nothing_else(opened: Opener) -> None:
    async with opened("import marimo as mo") as notebook:
        titles = [CreateCell(code=title_code(title_line(words))) for words in HOSTILE]
        observation = await notebook.apply(titles)
    shown = [cell.output for cell in observation.cells if cell.output]
    assert {output.mimetype for output in shown} == {"text/markdown"}
    for output, words in zip(shown, HOSTILE, strict=True):
        inside = output.data.split(">", 2)[2].removesuffix("</span>").removesuffix("</h1>")
        assert output.data.count("<") == 4, output.data
        assert html.unescape(inside) == title_line(words)


# ── its file ──


def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/n.py"
    assert create_if_missing(path, "one")
    assert not create_if_missing(path, "two")
    assert path.read_text() == "one"
    assert [entry.name for entry in path.parent.iterdir()] == ["n.py"]


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / "n.py"
    path.symlink_to(tmp_path / "target.py")
    assert not create_if_missing(path, "one")
    assert not (tmp_path / "target.py").exists()


def test_a_place_where_nothing_can_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Could not create"):
        create_if_missing(tmp_path / "file/n.py", "one")


# ── data that travels ──


def outside(source: Path, name: str | None = None) -> DataFile:
    label = name or source.name
    return place_data(source.resolve(), label, notebook=Path("/p/n.py"), project=Path("/p"))


def test_data_from_elsewhere_is_copied_beside_the_notebook_once(project: Path, elsewhere: Path) -> None:
    (elsewhere / "a.csv").write_text("1")
    (elsewhere / "many/deep").mkdir(parents=True)
    (elsewhere / "many/deep/b.csv").write_text("2")
    (elsewhere / "many/latest.csv").symlink_to("deep/b.csv")
    files = [outside(elsewhere / "a.csv"), outside(elsewhere / "many")]
    for _ in range(2):
        assert copy_data(files, project / "n.py") == ()
    assert (project / "data/many/latest.csv").read_text() == "2"
    assert sorted(path.relative_to(project).as_posix() for path in project.rglob("*")) == [
        "data",
        "data/a.csv",
        "data/many",
        "data/many/deep",
        "data/many/deep/b.csv",
        "data/many/latest.csv",
    ]


def test_data_of_the_project_is_not_copied(project: Path) -> None:
    (project / "a.csv").write_text("1")
    files = parse_data([str(project / "a.csv")], here=project, notebook=project / "n.py", project=project)
    assert copy_data(files, project / "n.py") == ()
    assert not (project / "data").exists()


def test_another_file_of_that_name_stays_and_is_told(project: Path, elsewhere: Path) -> None:
    (elsewhere / "a.csv").write_text("theirs")
    (project / "data").mkdir()
    (project / "data/a.csv").write_text("mine, and")
    caveats = copy_data([outside(elsewhere / "a.csv")], project / "n.py")
    assert (project / "data/a.csv").read_text() == "mine, and"
    assert caveats == snapshot(
        ("data/a.csv beside the notebook: another file than the one this was made with. It was left as it is.",)
    )


def test_too_much_data_stays_where_it_is_and_the_person_is_told_where_to_put_it(project: Path, elsewhere: Path) -> None:
    (elsewhere / "small.csv").write_text("x" * 10)
    (elsewhere / "large.csv").write_text("x" * 200_000)
    (elsewhere / "late.csv").write_text("x" * 95)
    files = [outside(elsewhere / name) for name in ("small.csv", "large.csv", "late.csv")]
    caveats = copy_data(files, project / "n.py", most_bytes=100)
    assert [entry.name for entry in (project / "data").iterdir()] == ["small.csv"]
    assert caveats == snapshot(
        (
            "large.csv (0.2 MB) was not copied: put it at data/large.csv beside the notebook.",
            "late.csv (95 bytes) was not copied: put it at data/late.csv beside the notebook.",
        )
    )


def test_a_large_folder_is_measured_as_a_whole(project: Path, elsewhere: Path) -> None:
    (elsewhere / "many/deep").mkdir(parents=True)
    for name in ("a", "deep/b"):
        (elsewhere / "many" / name).write_text("x" * 60)
    caveats = copy_data([outside(elsewhere / "many")], project / "n.py", most_bytes=100)
    assert len(caveats) == 1
    assert not (project / "data").exists()


def test_links_out_of_a_folder_and_things_that_are_no_files_are_left_out(project: Path, elsewhere: Path) -> None:
    secret = elsewhere / "secret.txt"
    secret.write_text("secret")
    many = elsewhere / "many"
    many.mkdir()
    (many / "a.csv").write_text("1")
    (many / "up.txt").symlink_to("../secret.txt")
    (many / "absolute.txt").symlink_to(secret)
    (many / "folder").symlink_to("..")
    os.mkfifo(many / "pipe")
    caveats = copy_data([outside(many)], project / "n.py")
    assert sorted(entry.name for entry in (project / "data/many").iterdir()) == ["a.csv"]
    (caveat,) = caveats
    assert all(name in caveat for name in ("up.txt", "absolute.txt", "folder", "pipe"))


def test_a_notebook_cannot_send_a_copy_elsewhere_through_a_link(project: Path, elsewhere: Path, tmp_path: Path) -> None:
    (elsewhere / "a.csv").write_text("1")
    victim = tmp_path / "victim"
    victim.mkdir()
    (project / "data").symlink_to(victim)
    caveats = copy_data([outside(elsewhere / "a.csv")], project / "n.py")
    assert len(caveats) == 1
    (project / "data").unlink()
    (project / "data").mkdir()
    (project / "data/a.csv").symlink_to(victim / "a.csv")
    assert len(copy_data([outside(elsewhere / "a.csv")], project / "n.py")) == 1
    assert list(victim.iterdir()) == []


def test_data_that_has_gone_is_told_and_nothing_is_raised(project: Path, elsewhere: Path) -> None:
    (elsewhere / "a.csv").write_text("1")
    file = outside(elsewhere / "a.csv")
    (elsewhere / "a.csv").unlink()
    assert len(copy_data([file], project / "n.py")) == 1


# ── without Cellwright ──


def without_cellwright(folder: Path) -> dict[str, str]:
    """An environment in which Python finds every package that is installed here, except ours."""
    links = folder / "packages"
    links.mkdir()
    for entry in next(Path(path) for path in sys.path if path.endswith("site-packages")).iterdir():
        if "cellwright" not in entry.name and entry.suffix != ".pth":
            (links / entry.name).symlink_to(entry)
    return {"PYTHONPATH": str(links), "PATH": "/usr/bin:/bin", "HOME": str(folder)}


@pytest.mark.slow
async def test_a_notebook_made_in_a_cage_runs_as_a_plain_script_where_cellwright_is_not_installed(
    opened: Opener, project: Path, elsewhere: Path, tmp_path: Path
) -> None:
    (project / "in.csv").write_text("amount\n40\n")
    (elsewhere / "Sales Q3.csv").write_text("amount\n2\n")
    path = project / "notebooks/n.py"
    words = [str(project / "in.csv"), str(elsewhere / "Sales Q3.csv")]
    data = parse_data(words, here=project, notebook=path, project=project)
    assert create_if_missing(path, new_notebook_text("Both", data))
    files = Files(project=project, data=tuple(file.words for file in data if file.is_outside))
    async with opened(path=path, files=files) as notebook:
        total = "import pandas as pd\ntotal = sum(pd.read_csv(one)['amount'].sum() for one in (in_csv, sales_q3_csv))"
        observation = await notebook.apply([CreateCell(code=total), CreateCell(code="print('total', total)")])
        assert observation.is_ok
        await notebook.save()
    assert copy_data(data, path) == ()
    await anyio.to_thread.run_sync(runs_elsewhere, project, elsewhere, tmp_path)


def runs_elsewhere(project: Path, elsewhere: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    project.rename(moved)
    (elsewhere / "Sales Q3.csv").unlink()
    environment = without_cellwright(tmp_path)
    python = [sys.executable, "-S"]
    gone = subprocess.run([*python, "-c", "import cellwright"], env=environment, capture_output=True, check=False)
    assert b"No module named 'cellwright'" in gone.stderr
    script = [*python, str(moved / "notebooks/n.py")]
    ran = subprocess.run(script, env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.split()) == (0, ["total", "42"]), ran.stderr
    assert read(moved / "notebooks/n.py").document.named(DATA_CELL)
