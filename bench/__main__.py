"""`python -m bench [NAME …] [--quick] [--json]`: measure, print the table, write bench/results/latest.json.

Exit 0 when everything was measured, whether or not every bar holds; 1 when something could not be; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from bench.failure import BenchFailed
from bench.rows import Finding
from bench.scenarios import ONLY_WHEN_NAMED, SCENARIOS, Scenario
from bench.stage import Stage, set_stage
from bench.table import load, table
from cellwright.errors import CellwrightError

_RESULTS = Path(__file__).parent / "results" / "latest.json"


def main(words: Sequence[str] | None = None) -> int:
    """Run the scenarios that were named, or all but the longest."""
    arguments = _arguments(words)
    names = arguments.names or [name for name in SCENARIOS if name not in ONLY_WHEN_NAMED]
    try:
        findings, is_complete = anyio.run(_measure, names, arguments.quick)
    except KeyboardInterrupt:
        _note("Stopped.")
        return 130
    except (BenchFailed, CellwrightError, BaseExceptionGroup) as problem:
        _tell(problem)
        return 1
    if arguments.json:
        print(json.dumps([finding.row.as_json() for finding in findings], ensure_ascii=False))
    else:
        print(table(findings))
    broken = [finding.row.name for finding in findings if not finding.row.holds]
    _note(load() + (f"; {len(broken)} of {len(findings)} bars do not hold" if broken else "; every bar holds"))
    return 0 if is_complete else 1


async def _measure(names: Sequence[str], is_quick: bool) -> tuple[list[Finding], bool]:
    async with set_stage(is_quick=is_quick) as stage:
        return await measure_each({name: SCENARIOS[name] for name in names}, stage, _RESULTS)


async def measure_each(scenarios: Mapping[str, Scenario], stage: Stage, results: Path) -> tuple[list[Finding], bool]:
    """What they find, and whether all could be measured; the file has the rows of those that are over."""
    findings: list[Finding] = []
    is_complete = True
    for name, scenario in scenarios.items():
        found = await _one(name, scenario, stage)
        findings += found
        is_complete = is_complete and bool(found)
        # Now, not at the end: half an hour of measuring is not lost when somebody stops it.
        _write(findings, results)
    return findings, is_complete


def _write(findings: Sequence[Finding], results: Path) -> None:
    rows = [finding.row.as_json() for finding in findings]
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


async def _one(name: str, scenario: Scenario, stage: Stage) -> list[Finding]:
    _note(f"{name} … ({load()})")
    began = time.monotonic()
    try:
        found = await scenario(stage)
    except (BenchFailed, CellwrightError, BaseExceptionGroup) as problem:
        _tell(problem)
        return []
    _note(f"{name}: {time.monotonic() - began:.0f} s")
    return found


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Cellwright against its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(SCENARIOS)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: a first look, not a result")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON instead of a table")
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if name not in SCENARIOS]
    if unknown:
        parser.error(f"no scenario named {unknown[0]!r}; known: {', '.join(SCENARIOS)}")
    return arguments


def _tell(problem: BaseException) -> None:
    """An expected problem in one line; a task group may have wrapped it. Anything else goes on up."""
    if isinstance(problem, BaseExceptionGroup):
        for inner in problem.exceptions:
            _tell(inner)
    elif isinstance(problem, (BenchFailed, CellwrightError)):
        _note(f"error: {problem}")
    else:
        raise problem


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
