"""The files a notebook depends on are found by what it says, what it was given and what it opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, EditRefused, apply_edits
from cellwright.runs.verify.input_files import FileLocations, hash_files, known_files, opened_inside
from cellwright.runs.verify.proof import sha256
from cellwright.sandbox.spec import DataMount


def document(*cells: str) -> Document:
    made = apply_edits(Document.new(), [CreateCell(code=code) for code in cells])
    assert not isinstance(made, EditRefused)
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("work/notebook.py", "work/a.csv", "data/b.csv", "data/deep/c.parquet", ".git/config", ".env", "d.csv"):
        place = tmp_path / "project" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(name)
    return tmp_path / "project"


def around(project: Path, *data: DataMount, hidden: tuple[str, ...] = (".env",)) -> FileLocations:
    return FileLocations(project=project, notebook=project / "work" / "notebook.py", data=data, hidden=hidden)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("open('a.csv')", ["work/a.csv"]),
        ("open('./a.csv')", ["work/a.csv"]),
        ("open('work/a.csv')", ["work/a.csv"]),
        ("mo.sql(f\"SELECT * FROM 'data/b.csv' WHERE x = {x}\")", ["data/b.csv"]),
        ("open(f'data/{name}.csv')", ["data/b.csv", "data/deep/c.parquet"]),
        ("Path('.') / 'data'", ["data/b.csv", "data/deep/c.parquet"]),
        ("glob('data/**/*.parquet')", ["data/deep/c.parquet"]),
        ("open('notebook.py')", []),
        ("open('.env'), open('.git/config')", []),
        ("open('../d.csv'), open('/etc/hosts'), open('~/x'), open('\\0')", []),
        ("not python 'a.csv'", []),
    ],
)
def test_a_name_in_the_code_is_a_file(project: Path, code: str, found: list[str]) -> None:
    assert known_files(document(code), around(project)) == dict.fromkeys(found, "named")


def test_why_a_file_counts_is_the_strongest_reason(project: Path, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "e.csv").write_text("e")
    mount = DataMount(source=str(tmp_path / "given"), target="work/data/given")
    opened = list(opened_inside(["/project/work/../d.csv", "/project/work/data/given/e.csv", "/etc/hosts", "/project"]))
    known = known_files(document("open('a.csv')"), around(project, mount), opened)
    assert known == {"work/a.csv": "named", "d.csv": "opened", "work/data/given/e.csv": "given"}
    (hashed,) = [one for one in hash_files(known, around(project, mount)) if one.why == "given"]
    assert (hashed.sha256, hashed.bytes) == (sha256("e"), 1)


def test_what_is_gone_or_no_file_has_no_hash(project: Path) -> None:
    assert hash_files({"gone.csv": "opened", "data": "named"}, around(project)) == ()
