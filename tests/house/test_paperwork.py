"""What stands in the repository can be read, trusted and rebuilt anywhere."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.house.places import ROOT, read_toml, tracked_files

VERBS = ("setup", "run", "test", "test-all", "bench", "check", "fmt", "docs")
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))

# Written in pieces, so that this file does not find itself.
FOREIGN = re.compile(
    "|".join(
        [
            r"(?<![\w.-])/" + r"root/",
            r"(?<![\w.-])/" + r"work/(?:main|shared)",
            r"pypi\.org/" + "simple",
            r"files\." + r"pythonhosted\.org",
            r"registry\." + r"(?:npmjs\.org|yarnpkg\.com)",
        ]
    )
)


def foreign_marks(text: str) -> list[str]:
    """Traces of one machine or one registry in a text."""
    return FOREIGN.findall(text)


def texts() -> Iterator[tuple[Path, str]]:
    """Every tracked file that is text."""
    for path in tracked_files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def unhashed(text: str) -> list[str]:
    """Requirements without an exact version and a hash, and lines that are neither."""
    entries = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    wanted = re.compile(r"^[\w.-]+(\[[\w,-]+\])?==\S+( ; [^#]+?)?( --hash=sha256:[0-9a-f]{64})+$")
    return [
        entry for entry in entries if entry.strip() and not entry.lstrip().startswith("#") and not wanted.match(entry)
    ]


def direct_dependencies() -> set[str]:
    """What we chose ourselves: the names in pyproject.toml and in the requirement sources."""
    project = read_toml(ROOT / "pyproject.toml")
    lines = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    lines += chain.from_iterable(project["project"]["optional-dependencies"].values())
    for source in (ROOT / "requirements").glob("*.in"):
        lines += source.read_text(encoding="utf-8").splitlines()
    names = (re.match(r"[A-Za-z][\w.-]*", line) for line in lines)
    return {name.group().lower() for name in names if name}


def documented_dependencies(page: str) -> list[str]:
    """The first column of each table of docs/dependencies.md."""
    return re.findall(r"^\| `([\w.-]+)` \|", page, flags=re.MULTILINE)


def test_agents_read_one_page() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_no_file_names_this_machine_or_a_registry() -> None:
    marks = {str(path.relative_to(ROOT)): found for path, text in texts() if (found := foreign_marks(text))}
    assert marks == {}


@pytest.mark.parametrize("mark", ["see /" + "root/notes", "cd /" + "work/main", "https://pypi.org/" + "simple/uv"])
def test_a_trace_of_a_machine_is_found(mark: str) -> None:
    assert foreign_marks(mark)


def test_there_are_pinned_requirements() -> None:
    names = [path.name for path in REQUIREMENTS]
    assert names == ["base.txt", "bootstrap.txt", "dev.txt", "local-model.txt", "page.txt"]


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_every_requirement_is_exact_and_hashed(path: Path) -> None:
    assert unhashed(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("line", ["numpy>=2", "numpy==2.0", "-i somewhere", "-e ."])
def test_a_loose_requirement_is_found(line: str) -> None:
    assert unhashed(f"{line}\n") == [line]


@pytest.mark.parametrize("name", ["base", "bootstrap", "page"])
def test_each_part_of_the_environment_has_the_versions_of_the_whole(name: str) -> None:
    assert pins(name) - pins("dev") == set()


def pins(name: str) -> set[str]:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    return set(re.findall(r"^[\w.-]+==\S+", text, re.MULTILINE))


def test_every_direct_dependency_has_its_reason_and_none_is_left_over() -> None:
    listed = documented_dependencies((ROOT / "docs/dependencies.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(direct_dependencies())


def test_bare_make_prints_what_each_verb_does() -> None:
    printed = subprocess.run(["make"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    told = dict(re.findall(r"^  make ([\w-]+) +(.+)$", printed, flags=re.MULTILINE))
    assert set(VERBS) <= set(told)
    assert all(told.values())


def test_continuous_integration_runs_the_contributors_verb() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "exec make test"
