"""`cellwright report`: what a run found, of a run or of a file it delivered, as markdown, as its page and as JSON."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio.to_thread
import pytest
from inline_snapshot import snapshot

from cellwright.journal.journal import Journal
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.deliver.report.report import report_html
from tests.cli.in_process import Said, run_here
from tests.cli.told_runs import has_ended, is_asking, open_told, started

TOLD = "with a headline"
PAGE = report_html(Delivery(status="done", goal="g", headline="Revenue fell by 4 %."))


@pytest.fixture
async def told(tmp_path: Path) -> AsyncGenerator[Journal]:
    """Two runs in one folder that are over, the newer one with a report beside its notebook."""
    async with open_told(tmp_path) as journal:
        for run, words in (("old-run", "Why?"), ("new-run", TOLD)):
            await started(journal, run, words, folder=tmp_path)
            await has_ended(journal, run)
        (tmp_path / "revenue.report.html").write_text(PAGE)
        yield journal


async def report(home: Path, *words: str, code: int = 0) -> Said:
    given = ["report", *words, "--database", str(home / "journal.db")]
    return await anyio.to_thread.run_sync(lambda: run_here(home, *given, code=code, folder=home))


async def test_a_report_is_markdown_with_everything_in_it(told: Journal, tmp_path: Path) -> None:
    said = await report(tmp_path, "new")
    assert said.stdout == snapshot("""\
# Revenue fell by 4 %.

> with a headline

1 check passed; not proven.

## Findings

- Orders fell most in Bergen. (p = 0.01)

It fell by 4 %.

## How the question was read

- Q3 ends in September.

## Checks

- passed: The parts add up.

## Proof and files

- notebook: revenue.py
- report: revenue.report.html
- cost: $0.0012 (1,000 tokens)
- time: 2 s
""")
    assert (await report(tmp_path, "last", "--markdown", "-")).stdout == said.stdout
    await report(tmp_path, "new-run", "--markdown", "found.md")
    assert await anyio.Path(tmp_path / "found.md").read_text() == said.stdout


@pytest.mark.slow
async def test_a_notebook_and_a_report_lead_to_the_last_run_that_delivered_them(told: Journal, tmp_path: Path) -> None:
    for file in ("revenue.py", "./revenue.report.html", str(tmp_path / "revenue.py")):
        assert json.loads((await report(tmp_path, file, "--json")).stdout)["run"] == "new-run"


async def test_a_program_is_told_headline_findings_and_trust(told: Journal, tmp_path: Path) -> None:
    found = json.loads((await report(tmp_path, "new", "--json")).stdout)
    told_first = {name: found[name] for name in ("headline", "findings", "picture", "trust", "readings")}
    assert told_first == snapshot(
        {
            "headline": "Revenue fell by 4 %.",
            "findings": [
                {
                    "says": "Orders fell most in Bergen.",
                    "statistics": "p = 0.01",
                    "cell": "",
                    "bars": [["Bergen", 3.0], ["Oslo", 1.0]],
                }
            ],
            "picture": "",
            "trust": "1 check passed; not proven.",
            "readings": ["Q3 ends in September."],
        }
    )


async def test_the_page_is_the_one_that_was_delivered(told: Journal, tmp_path: Path) -> None:
    await report(tmp_path, "new", "--html", "copy.html")
    assert await anyio.Path(tmp_path / "copy.html").read_text() == PAGE
    assert (await report(tmp_path, "new", "--html", "-")).stdout == PAGE


async def test_a_run_of_an_earlier_version_is_told_by_its_title_and_answer(told: Journal, tmp_path: Path) -> None:
    said = (await report(tmp_path, "old-run")).stdout
    assert said.startswith("# Revenue in Q3\n\n> Why?\n\nIt fell by 4 %.\n")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["nowhere"], "No run 'nowhere'.", "`cellwright runs list` shows them"),
        (["other.py"], "No run has delivered 'other.py'.", "`cellwright runs list` shows"),
        (["new", "--html", "missing/copy.html"], "Cannot write 'missing/copy.html'", "Name a file you may write."),
        (["new", "--html", "-", "--json"], "--html and --json cannot both go to stdout.", "Name a file"),
        (["old-run", "--html", "-"], "The run 'old-run' has no report.", "`cellwright report old-run --markdown -`"),
    ],
)
async def test_what_cannot_be_shown_is_said_with_what_to_do(
    told: Journal, tmp_path: Path, words: list[str], message: str, hint: str
) -> None:
    said = await report(tmp_path, *words, code=2)
    assert said.stdout == ""
    assert message in said.stderr and f"hint: {hint}" in said.stderr


@pytest.mark.slow
async def test_a_page_that_is_gone_or_somebody_elses_is_not_handed_out(told: Journal, tmp_path: Path) -> None:
    (tmp_path / "revenue.report.html").write_text("<p>mine</p>")
    assert "has no report at" in (await report(tmp_path, "new", "--html", "-", code=2)).stderr
    (tmp_path / "revenue.report.html").unlink()
    assert "has no report at" in (await report(tmp_path, "new", "--html", "-", code=2)).stderr


async def test_a_run_at_work_has_no_report_yet(told: Journal, tmp_path: Path) -> None:
    await started(told, "asking", "ask me", folder=tmp_path)
    await is_asking(told, "asking")
    said = await report(tmp_path, "asking", code=2)
    assert "still at work" in said.stderr and "cellwright runs watch asking" in said.stderr


async def test_at_its_end_a_run_says_its_first_screen_and_where_all_of_it_is(told: Journal, tmp_path: Path) -> None:
    given = ["runs", "show", "new", "--database", str(tmp_path / "journal.db")]
    said = await anyio.to_thread.run_sync(lambda: run_here(tmp_path, *given))
    first = said.stdout.partition("Revenue fell by 4 %.")
    assert first[1] and len(first[2].splitlines()) < 12
    assert "cellwright report new-run" in said.stderr
