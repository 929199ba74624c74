"""File tools: the project's files, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.data.files import parse_data
from cellwright.errors import RefusedByPolicy
from cellwright.policy.approvals import No, Yes
from cellwright.tools.file_tools import MOST_WRITTEN_BYTES, file_tools
from cellwright.tools.project_files import ProjectFiles
from cellwright.tools.tool import Done, Refusal, ToolError, ToolResult, result_text
from tests.tools.call_driver import CallDriver, open_driver
from tests.tools.guard_driver import ADA


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "birds.csv").write_text("bird,grams\nwren,9\nrobin,18\n")
    (folder / "notes.md").write_text("# Notes\nThe wren is small.\n")
    (folder / ".env").write_text("TOKEN=abc\n")
    (folder / "notebook.py").write_text("import marimo\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "up").symlink_to(tmp_path)
    return folder


async def call(where: Path, project: Path, name: str, **arguments: Any) -> ToolResult:
    files = ProjectFiles(project, protected=[project / "notebook.py"])
    async with open_driver(where, file_tools(files), project=str(project)) as driver:
        return await driver.call(name, arguments)


async def test_a_folder_is_listed_without_secrets_and_links(where: Path, project: Path) -> None:
    listed = await call(where, project, "list_files")
    assert isinstance(listed, Done)
    assert listed.text.splitlines() == [
        "data/",
        "data/birds.csv  27 bytes",
        "notebook.py  14 bytes",
        "notes.md  27 bytes",
    ]


async def test_lines_of_a_file_are_read(where: Path, project: Path) -> None:
    read = await call(where, project, "read_file", path="data/birds.csv", from_line=2, lines=1)
    assert read == Done(text="data/birds.csv: 27 bytes, lines 2-2 of 3\nwren,9", value="wren,9", is_untrusted=True)


async def test_of_big_and_binary_files_only_the_beginning_is_shown(where: Path, project: Path) -> None:
    (project / "big.csv").write_bytes(b"a,b\n" * 2_000_000)
    big = await call(where, project, "read_file", path="big.csv", lines=3)
    assert isinstance(big, Done)
    assert big.text.startswith("big.csv: 8,000,000 bytes, lines 1-3 of more than ")
    assert len(big.text) < 400


async def test_a_binary_file_is_named_as_such(where: Path, project: Path) -> None:
    (project / "a.parquet").write_bytes(b"PAR1\0\0\1" * 10)
    read = await call(where, project, "read_file", path="a.parquet")
    assert isinstance(read, Done)
    assert "binary, 70 bytes" in read.text


async def test_what_is_outside_or_secret_is_refused(where: Path, project: Path) -> None:
    paths = {
        "../outside.txt": "not in the project",
        "/etc/passwd": "not in the project",
        "link.txt": "not in the project",
        "up/outside.txt": "not in the project",
        ".env": "looks like a secret",
        "data/../.env": "looks like a secret",
    }
    async with open_driver(where, file_tools(ProjectFiles(project)), project=str(project)) as driver:
        for number, (path, why) in enumerate(paths.items()):
            await driver.begin(
                f"r{number}",
                ("read_file", {"path": path}),
                ("list_files", {"path": path}),
                ("write_file", {"path": path, "content": "x", "overwrite": True}),
                ("edit_file", {"path": path, "old": "o", "new": "x"}),
            )
            for refused in await driver.results(f"r{number}"):
                assert isinstance(refused, Refusal), (path, refused)
                assert why in refused.feedback, path


def test_a_link_swapped_in_after_the_check_is_not_followed(project: Path, tmp_path: Path) -> None:
    files = ProjectFiles(project)
    real = files.locate("data/birds.csv")
    (project / "data").rename(project / "moved")
    (project / "data").symlink_to(tmp_path)
    (tmp_path / "birds.csv").write_text("outside")
    with pytest.raises(RefusedByPolicy, match="became a link"):
        files.read(real, 100)
    with pytest.raises(RefusedByPolicy, match="became a link"):
        files.write(real, b"x")
    assert (tmp_path / "birds.csv").read_text() == "outside"


async def test_text_is_found_with_file_and_line(where: Path, project: Path) -> None:
    found = await call(where, project, "search_files", text="WREN")
    assert isinstance(found, Done)
    assert found.value == ["data/birds.csv:2: wren,9", "notes.md:2: The wren is small."]


async def test_a_search_never_looks_into_secrets(where: Path, project: Path) -> None:
    found = await call(where, project, "search_files", text="TOKEN")
    assert isinstance(found, Done)
    assert found.text == "Nothing found."


async def test_a_file_is_written_with_its_folders_and_keeps_its_mode(where: Path, project: Path) -> None:
    (project / "run.sh").write_text("old")
    (project / "run.sh").chmod(0o755)
    files = ProjectFiles(project)
    async with open_driver(where, file_tools(files), project=str(project)) as driver:
        await driver.call("write_file", {"path": "out/deep/a.txt", "content": "Grüße\n"}, run="a")
        await driver.call("write_file", {"path": "run.sh", "content": "new", "overwrite": True}, run="b")
    assert (project / "out/deep/a.txt").read_text() == "Grüße\n"
    assert (project / "run.sh").read_text() == "new"
    assert (project / "run.sh").stat().st_mode & 0o777 == 0o755
    assert [entry.path for entry in files.walk(project) if entry.path.endswith(".saving")] == []


async def test_an_existing_file_is_not_replaced_unless_said_so(where: Path, project: Path) -> None:
    refused = await call(where, project, "write_file", path="notes.md", content="x")
    assert isinstance(refused, ToolError)
    assert "exists already" in refused.message
    assert (project / "notes.md").read_text().startswith("# Notes")


async def test_the_notebook_is_not_written_as_a_file(where: Path, project: Path) -> None:
    refused = await call(where, project, "write_file", path="notebook.py", content="x", overwrite=True)
    assert isinstance(refused, Refusal)
    assert "Change its cells with `apply`." in refused.feedback


async def test_a_text_is_replaced_where_it_stands_once(where: Path, project: Path) -> None:
    files = ProjectFiles(project)
    async with open_driver(where, file_tools(files), project=str(project)) as driver:
        await driver.call("edit_file", {"path": "notes.md", "old": "small", "new": "tiny"}, run="a")
        assert (project / "notes.md").read_text() == "# Notes\nThe wren is tiny.\n"
        twice = await driver.call("edit_file", {"path": "notes.md", "old": "n", "new": "m"}, run="b")
        assert "times in 'notes.md', not once" in result_text(twice)


async def answered(driver: CallDriver, reply: Yes | No) -> str:
    question = (await driver.asked()).question
    shown = question.describe()
    await driver.inbox.answer(question.id, reply, ADA, question.fingerprint)
    return shown


async def test_a_person_is_shown_the_diff_before_it_is_written(where: Path, project: Path) -> None:
    files = ProjectFiles(project)
    async with open_driver(where, file_tools(files), project=str(project), rules="") as driver:
        await driver.begin("r", ("edit_file", {"path": "notes.md", "old": "small", "new": "tiny"}))
        shown = await answered(driver, No(feedback="It is small."))
        assert "-The wren is small." in shown
        assert "+The wren is tiny." in shown
        [refused] = await driver.results("r")
        assert "It is small." in result_text(refused)
    assert "small" in (project / "notes.md").read_text()


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("read_file", {"path": "nowhere.md"}, "not-found"),
        ("read_file", {"path": "data"}, "not-found"),
        ("read_file", {"path": ""}, "bad-arguments"),
        ("list_files", {"path": "nowhere"}, "not-found"),
        ("write_file", {"path": "notes.md", "content": "x"}, "conflict"),
        ("edit_file", {"path": "nowhere.md", "old": "a", "new": "b"}, "not-found"),
        ("edit_file", {"path": "notes.md", "old": "ostrich", "new": "b"}, "conflict"),
        ("edit_file", {"path": "data/birds.csv", "old": ",", "new": ";"}, "bad-arguments"),
        ("edit_file", {"path": "big.txt", "old": "a", "new": "b"}, "too-big"),
    ],
)
async def test_an_error_says_of_what_kind_it_is(
    where: Path, project: Path, name: str, arguments: dict[str, str], kind: str
) -> None:
    (project / "big.txt").write_bytes(b"a" * (MOST_WRITTEN_BYTES + 1))
    failed = await call(where, project, name, **arguments)
    assert isinstance(failed, ToolError), failed
    assert failed.kind == kind


async def test_data_that_was_given_is_read_at_the_path_its_profile_shows_and_nobody_is_asked(
    where: Path, project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere" / "weather"
    folder.mkdir(parents=True)
    (folder / "june.csv").write_text("day,rain\n1,0.5\n")
    (folder / ".env").write_text("TOKEN=abc\n")
    (folder / "out.csv").symlink_to(tmp_path / "outside.txt")
    single = tmp_path / "elsewhere" / "one.csv"
    single.write_text("rain\n7\n")
    # The notebook stands in a folder of the project: what its code calls a file is not the file's path in the project.
    notebook = project / "work" / "notebook.py"
    given = parse_data([str(folder), str(single)], here=project, notebook=notebook, project=project)
    files = ProjectFiles(project, given=given)
    async with open_driver(where, file_tools(files), project=str(project), rules="") as driver:
        await driver.begin(
            "r",
            ("read_file", {"path": "data/weather/june.csv"}),
            ("read_file", {"path": "work/data/weather/june.csv"}),
            ("read_file", {"path": "data/one.csv"}),
            ("list_files", {"path": "data/weather"}),
            ("search_files", {"text": "rain"}),
            ("read_file", {"path": "data/weather/.env"}),
            ("read_file", {"path": "data/weather/out.csv"}),
            ("write_file", {"path": "data/one.csv", "content": "x", "overwrite": True}),
        )
        # Whoever was asked would be waited for.
        *read, secret, link, written = await driver.results("r")
    assert [result_text(each).partition("\n")[2] for each in read[:3]] == ["day,rain\n1,0.5"] * 2 + ["rain\n7"]
    assert result_text(read[3]) == "data/weather/june.csv  15 bytes"
    assert "data/weather/june.csv:1: day,rain" in result_text(read[4])
    assert "data/one.csv:1: rain" in result_text(read[4])
    assert "looks like a secret" in result_text(secret)
    assert "leads out of the data" in result_text(link)
    assert "is data that was given" in result_text(written)
    assert single.read_text() == "rain\n7\n"
