"""marimo's own example notebooks, as its wheel ships them: verified, or refused with a reason that is true."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import marimo
import pytest

from cellwright.runs.verify.judge import UnverifiedReason
from cellwright.runs.verify.verification import Verified
from tests.runs.verify.verifying import Verifier, said
from tests.sampling import some

MARIMO = Path(marimo.__file__).parent
SOURCES = {path: text for path in MARIMO.rglob("*.py") if "\napp = marimo.App(" in (text := path.read_text())}
SHIPPED = sorted(SOURCES)
TUTORIALS = {path.stem: path for path in SHIPPED if path.parent.name == "_tutorials"}
SNIPPETS = [path for path in SHIPPED if path.parent.name != "_tutorials"]

ON_OUR_PACKAGES: dict[str, tuple[str, ...]] = {
    # It shows what an error looks like: names defined twice, a cycle.
    "dataflow": ("MB002", "MB002", "MB003"),
    # An `if` whose branches end in expressions nobody sees.
    "external_dependencies": ("MR002", "MR002"),
    "fileformat": (),
    "for_jupyter_users": ("MB002",),
    "intro": (),
    "layout": (),
    "markdown": (),
    # A million random numbers without a seed.
    "plots": ("np.random.randn",),
    # It lets a person type SQL, and downloads a file.
    "sql": ("Parser Error", "Failed to download extension"),
    "ui": (),
}
"""Each tutorial without its header, and what stands in each reason against it; nothing: it is verified."""


def copied(path: Path, folder: Path, text: str | None = None) -> Path:
    project = folder / "project"
    project.mkdir()
    copy = project / path.name
    copy.write_text(text if text is not None else path.read_text())
    return copy


def without_header(text: str) -> str:
    return re.sub(r"(?ms)\A(.*?)^# /// script\n.*?^# ///\n", r"\1", text, count=1)


def test_the_table_names_every_tutorial() -> None:
    assert ON_OUR_PACKAGES.keys() == TUTORIALS.keys()
    assert len(SHIPPED) > 100


@pytest.mark.parametrize("name", some(sorted(ON_OUR_PACKAGES), 1))
async def test_a_tutorial_on_our_packages_is_verified_or_refused_as_the_table_says(
    verified: Verifier, tmp_path: Path, name: str
) -> None:
    text = TUTORIALS[name].read_text()
    result = await verified(copied(TUTORIALS[name], tmp_path, without_header(text)))
    expected = ON_OUR_PACKAGES[name]
    reasons = said(result)
    assert len(reasons) == len(expected), reasons
    assert all(any(words in reason for reason in reasons) for words in expected), reasons
    if not expected:
        assert isinstance(result, Verified)
        assert result.proof.environment.requirements is None


@pytest.mark.slow
async def test_a_tutorial_with_its_header_runs_on_marimo_alone(verified_with_wheels: Verifier, tmp_path: Path) -> None:
    text = TUTORIALS["intro"].read_text()
    path = copied(TUTORIALS["intro"], tmp_path, re.sub(r"(?m)^# requires-python = .*\n", "", text))
    proof = await verified_with_wheels.proof(path)
    assert proof.environment.requirements == ("marimo",)
    assert "pandas" not in proof.environment.packages


@pytest.mark.slow
async def test_a_tutorial_as_it_is_shipped_is_refused_where_its_python_or_packages_are_not_to_be_had(
    verified: Verifier, tmp_path: Path
) -> None:
    (reason,) = (await verified.refused(copied(TUTORIALS["sql"], tmp_path))).reasons
    assert reason.kind == "NoEnvironment"
    # Where a Python that its header asks for is installed, it is the packages that nobody can be asked for.
    assert re.search("requires Python >=3.12|The package index cannot be reached", reason.text)


def is_true(reason: UnverifiedReason, source: str) -> bool:
    """Whether a reason against a notebook can be seen to be so without verifying it."""
    match reason.kind:
        case "LintError":
            return reason.text.rpartition("(")[2].startswith(("MB", "MR"))
        case "CellFailed" if "ModuleNotFoundError" in reason.text:
            missing = re.findall(r"'([\w.]+)'", reason.text)[-1]
            top = missing.partition(".")[0]
            return missing != top or importlib.util.find_spec(top) is None
        case "CellFailed":
            wanted = (
                *("No files found", "Can't load plugin", "error sending request", "Failed to download"),
                *("Missing credentials", "is not supported", "must be an iterable"),
            )
            return any(words in reason.text for words in wanted)
        case "OutputDiffers":
            # Of what duckdb groups nobody promises an order.
            return "random" in source or "sample" in source or "mo.sql" in source
        case "MachinePathFound":
            # A library warns, and a warning says where it comes from.
            return "in its console: " in reason.text and Path(reason.text.rpartition(": ")[2]).exists()
        case _:
            return False


@pytest.mark.slow
@pytest.mark.sampled(len(SNIPPETS), often=4)
@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
async def test_a_snippet_is_verified_or_refused_with_a_true_reason(
    verified: Verifier, tmp_path: Path, path: Path
) -> None:
    source = SOURCES[path]
    result = await verified(copied(path, tmp_path))
    if isinstance(result, Verified):
        assert len(result.proof.cells) == source.count("@app.cell")
    else:
        assert [one.text for one in result.reasons if not is_true(one, source)] == []
