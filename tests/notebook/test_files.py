"""Files on disk: what is refused, what is never overwritten, and what a crash leaves."""

from __future__ import annotations

import codecs
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import marimo
import pytest
from inline_snapshot import snapshot

from cellwright.errors import Defect, UserError
from cellwright.notebook.atomic_write import SavePoint
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import EditCell, EditRefused, apply_edits
from cellwright.notebook.files import NotebookFile, SaveConflict, new, read, save
from cellwright.notebook.layout import signature_end
from cellwright.notebook.render import check_reads_back, render
from tests.sampling import some

NOTEBOOK: Final = """\
import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def _():
    x = 1
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "notebook.py"
    path.write_text(NOTEBOOK)
    return path


def with_code(file: NotebookFile, code: str) -> Document:
    cell = file.document.cells[0]
    after = apply_edits(file.document, [EditCell(cell=cell.id, base_version=cell.version, code=code)])
    assert not isinstance(after, EditRefused)
    return after


def saved(file: NotebookFile, code: str) -> NotebookFile:
    result = save(file, with_code(file, code))
    assert isinstance(result, NotebookFile)
    return result


BROKEN: Final = {
    "empty": b"",
    "blank": b" \n\n",
    "only a byte order mark": codecs.BOM_UTF8,
    "syntax error": NOTEBOOK.replace("x = 1", "x = = 1").encode(),
    "not marimo": b"print('hello')\n",
    "only comments": b"# just a comment\n",
    "no app": b"import marimo\n\nprint(marimo)\n",
    "class cell": NOTEBOOK.replace("def _():\n    x = 1\n    return", "class A:\n    x = 1").encode(),
    "binary": b"\x7fELF\0\0\0",
    "latin-1": "# café\n".encode("latin-1"),
    "too deep": b"import marimo\napp = marimo.App()\nx = " + b"(" * 5000 + b")" * 5000,
    "too long a chain": b"import marimo\napp = marimo.App()\nx = " + b"-" * 200_000 + b"1",
    "run guard first": NOTEBOOK.replace(
        "@app.cell", 'if __name__ == "__main__":\n    app.run()\nwith app.setup:\n    y = 1\n\n@app.cell'
    ).encode(),
    "no app either": b"import marimo\nx = 1\n",
}
TOO_LARGE: Final = "51 MB"


def content_of(name: str) -> bytes:
    """The large one is made when asked for: it would otherwise stay in every worker."""
    return b"#" * (51 << 20) if name == TOO_LARGE else BROKEN[name]


@pytest.mark.parametrize("name", [*BROKEN, TOO_LARGE])
def test_what_is_no_notebook_gives_a_clear_error_and_is_left_alone(tmp_path: Path, name: str) -> None:
    path, content = tmp_path / "notebook.py", content_of(name)
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        read(path)
    assert "notebook.py" in refused.value.message
    assert refused.value.hint
    if name != TOO_LARGE:
        assert isinstance(save(new(path), Document.new()), SaveConflict)
    assert path.read_bytes() == content


def test_the_messages_say_what_is_wrong(tmp_path: Path) -> None:
    def message(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError) as refused:
            read(tmp_path / name)
        return refused.value.message.replace(str(tmp_path), "")

    assert {name: message(name.replace(" ", "_"), content_of(name)) for name in (*BROKEN, TOO_LARGE)} == snapshot(
        {
            "empty": "'/empty' is empty.",
            "blank": "'/blank' is empty.",
            "only a byte order mark": "'/only_a_byte_order_mark' is empty.",
            "syntax error": "'/syntax_error' is not valid Python: line 9: invalid syntax.",
            "not marimo": "'/not_marimo' is Python, but not a marimo notebook.",
            "only comments": "'/only_comments' is Python, but not a marimo notebook.",
            "no app": "'/no_app' is not a marimo notebook: `marimo.App` definition expected.",
            "class cell": "'/class_cell' is not a marimo notebook: @app.cell cannot be used on classes.",
            "binary": "'/binary' is a binary file, not a notebook.",
            "latin-1": "'/latin-1' is not UTF-8: byte 5 is 0xe9.",
            "too deep": "'/too_deep' is not valid Python: line 3: too many nested parentheses.",
            "too long a chain": "'/too_long_a_chain' cannot be parsed: it is nested too deeply.",
            "run guard first": "'/run_guard_first' is not laid out as a marimo notebook.",
            "51 MB": "'/51_MB' is larger than 50 MB.",
            "no app either": "'/no_app_either' is not a marimo notebook: `marimo.App` definition expected.",
        }
    )


def test_syntax_that_only_a_newer_python_knows_is_refused_with_what_helps(tmp_path: Path) -> None:
    newer = f"{sys.version_info.major}.{sys.version_info.minor + 1}"
    cell = "import marimo\napp = marimo.App()\n\n@app.cell\ndef _():\n    this is from the future\n"
    path = tmp_path / "notebook.py"
    for header, is_told in ((newer, True), ("3.8", False)):
        path.write_text(f'# /// script\n# requires-python = ">={header}"\n# ///\n{cell}')
        with pytest.raises(UserError, match="is not valid Python: line 9") as refused:
            read(path)
        assert (f"install Cellwright with Python {newer}" in refused.value.hint) is is_told


def test_folders_pipes_missing_files_and_link_loops_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "file").write_text("")
    for path, words in {
        tmp_path: "is a folder",
        tmp_path / "pipe.py": "not a regular file",
        tmp_path / "gone.py": "no notebook",
        tmp_path / "file" / "gone.py": "no notebook",
        tmp_path / "loop.py": "cannot be",
    }.items():
        with pytest.raises(UserError, match=words):
            read(path)


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path / ("n" * 300 + ".py"))


def test_a_markdown_notebook_is_refused_with_the_way_to_convert_it() -> None:
    with pytest.raises(UserError) as refused:
        read(Path(marimo.__file__).parent / "_tutorials" / "markdown_format.md")
    assert refused.value.hint == "Convert it with `marimo convert markdown_format.md -o markdown_format.py`."


def test_an_unchanged_notebook_is_not_written(path: Path) -> None:
    before = path.stat()
    file = read(path)
    assert save(file, file.document) == file
    assert path.stat().st_ino == before.st_ino


def test_a_save_keeps_mode_byte_order_mark_and_line_breaks(path: Path) -> None:
    path.write_bytes(codecs.BOM_UTF8 + NOTEBOOK.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    saved(read(path), "x = 2\ny = 3")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    expected = NOTEBOOK.replace("x = 1", "x = 2\n    y = 3").replace("\n", "\r\n")
    assert path.read_bytes() == codecs.BOM_UTF8 + expected.encode()


def test_a_save_through_a_link_changes_the_real_file(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(path)
    saved(read(link), "x = 2")
    assert link.is_symlink()
    assert "x = 2" in path.read_text()


def test_saves_in_a_row_each_build_on_the_last(path: Path) -> None:
    file = saved(read(path), "x = 2")
    file = saved(file, "x = 3")
    assert path.read_text() == NOTEBOOK.replace("x = 1", "x = 3")


def test_a_save_over_a_file_that_changed_is_refused_with_both_texts(path: Path) -> None:
    file = read(path)
    theirs = NOTEBOOK.replace("x = 1", "x = 99")
    path.write_text(theirs)
    ours = NOTEBOOK.replace("x = 1", "x = 2")
    assert save(file, with_code(file, "x = 2")) == SaveConflict(path=path, disk_text=theirs, our_text=ours)
    assert path.read_text() == theirs
    path.unlink()
    assert save(file, with_code(file, "x = 2")) == SaveConflict(path=path, disk_text=None, our_text=ours)


def test_a_file_that_changes_in_the_last_moment_is_not_overwritten(path: Path) -> None:
    file = read(path)

    def somebody_else_saves(point: SavePoint) -> None:
        if point is SavePoint.SYNCED:
            path.write_text("theirs")

    result = save(file, with_code(file, "x = 2"), reached=somebody_else_saves)
    assert isinstance(result, SaveConflict)
    assert result.disk_text == "theirs"
    assert [entry.name for entry in path.parent.iterdir()] == ["notebook.py"]


def test_saving_what_somebody_else_already_saved_is_no_conflict(path: Path) -> None:
    file = read(path)
    document = with_code(file, "x = 2")
    path.write_text(render(document))
    assert isinstance(save(file, document), NotebookFile)


def test_a_new_notebook_never_replaces_a_file_that_appeared(tmp_path: Path) -> None:
    file = new(tmp_path / "fresh.py")
    (tmp_path / "fresh.py").write_text("somebody's")
    assert isinstance(save(file, Document.new()), SaveConflict)
    assert (tmp_path / "fresh.py").read_text() == "somebody's"


def test_a_folder_that_is_gone_gives_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Could not save"):
        save(new(tmp_path / "missing" / "fresh.py"), Document.new())


def test_leftovers_of_a_crash_go_with_a_later_save(path: Path) -> None:
    old, recent = path.with_name(".notebook.py.aa.saving"), path.with_name(".notebook.py.bb.saving")
    for leftover in (old, recent):
        leftover.write_text("half")
    os.utime(old, (0, time.time() - 3600))
    saved(read(path), "x = 2")
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".notebook.py.bb.saving", "notebook.py"]


def test_text_that_would_not_read_back_is_our_mistake_and_not_saved(path: Path) -> None:
    document = read(path).document
    wrong = replace(document, cells=(Cell(id=document.cells[0].id, code="x = 7"),))
    with pytest.raises(Defect):
        check_reads_back(wrong, NOTEBOOK, "notebook.py")


def test_code_that_no_marimo_file_can_hold_is_not_saved(path: Path) -> None:
    document = read(path).document
    wrong = replace(document, cells=(Cell(id=document.cells[0].id, code="  x = 7"),))
    with pytest.raises(UserError, match="cannot be kept"):
        save(read(path), wrong)
    assert path.read_text() == NOTEBOOK


def test_a_signature_is_only_sought_where_a_function_stands() -> None:
    with pytest.raises(Defect):
        signature_end("x = 1\n", 0)


KILLED: Final = """
import os, signal, sys
from pathlib import Path
from cellwright.notebook.edits import EditCell, apply_edits
from cellwright.notebook.files import read, save
from cellwright.notebook.atomic_write import SavePoint

file = read(Path(sys.argv[1]))
document = apply_edits(file.document, [EditCell(cell=file.document.cells[0].id, base_version=1, code=sys.argv[2])])

def die(point):
    if point == SavePoint(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

save(file, document, reached=die)
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", some(reversed(SavePoint), 1))
def test_a_save_killed_at_any_point_leaves_the_old_or_the_new_file(path: Path, point: SavePoint) -> None:
    code = "x = 2\n" + "\n".join(f"y{number} = {number}" for number in range(2000))
    file = read(path)
    expected = {NOTEBOOK, render(with_code(file, code))}
    child = subprocess.run([sys.executable, "-c", KILLED, str(path), code, point.value], check=False, timeout=120)
    assert child.returncode == -signal.SIGKILL
    assert path.read_text() in expected
    assert (path.read_text() == NOTEBOOK) == (point is not SavePoint.REPLACED)
    assert [entry.name for entry in path.parent.glob("*.py")] == ["notebook.py"]
    assert isinstance(save(read(path), with_code(read(path), code)), NotebookFile)
