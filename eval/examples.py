"""`python -m eval.examples [NAME …]`: makes the data of the examples and lets the analyst deliver their notebooks.

An old delivery is replaced only once the new one is proven.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio

from cellwright.settings import Settings
from eval.cellwright_worker import ANALYST, CellwrightWorker, keyless, read_delivery

EXAMPLES: Final = Path(__file__).parent.parent / "examples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A goal and its data; both stand in examples/README.md, too."""

    goal: str
    data: tuple[str, ...]
    """Relative to examples/."""
    generator: str
    depth: str = "answer"


BUNDLED: Final[Mapping[str, Example]] = {
    "shop": Example(
        goal="Why did revenue fall in Q3 2025?",
        data=("data/orders.csv", "data/customers.csv"),
        generator="data/make_shop.py",
    ),
    "shop_in_full": Example(
        goal="Why did revenue fall in Q3 2025?",
        data=("data/orders.csv", "data/customers.csv"),
        generator="data/make_shop.py",
        depth="full",
    ),
    "sensors": Example(
        goal="How did the temperature change over time?",
        data=("sensors/climate.csv",),
        generator="sensors/make_data.py",
    ),
    "survey": Example(
        goal="Compare recommend_0_to_10 by team", data=("survey/answers.csv",), generator="survey/make_data.py"
    ),
    "kiosk": Example(
        goal="Compare what was paid by category", data=("kiosk/kiosk.db",), generator="kiosk/make_data.py"
    ),
    "branches": Example(
        goal="Compare revenue_eur by branch", data=("branches/monthly",), generator="branches/make_data.py"
    ),
    "turbines": Example(
        goal="Compare minutes by kind of fault",
        data=("turbines/output.xlsx", "turbines/faults.jsonl"),
        generator="turbines/make_data.py",
    ),
}


def main(words: Sequence[str] | None = None) -> int:
    """Make those that were named, or all; exit 1 if one is not proven."""
    parser = argparse.ArgumentParser(prog="python -m eval.examples", description="Make the bundled examples again.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(BUNDLED)}")
    names = parser.parse_args(words).names or list(BUNDLED)
    unknown = [name for name in names if name not in BUNDLED]
    if unknown:
        parser.error(f"no example named {unknown[0]!r}; known: {', '.join(BUNDLED)}")
    return anyio.run(_make_all, names)


async def _make_all(names: Sequence[str]) -> int:
    failed = 0
    with tempfile.TemporaryDirectory(prefix="cellwright-examples-") as home:
        worker = CellwrightWorker(ANALYST, keyless(Settings.read().environment, Path(home)), seconds=900)
        try:
            for name in names:
                delivery = await make(name, BUNDLED[name], worker)
                failed += delivery.get("status") != "done"
                sys.stderr.write(f"{name}: {delivery.get('status')} {delivery.get('why', '')}\n")
        finally:
            with anyio.CancelScope(shield=True):
                await worker.end()
    return 1 if failed else 0


async def make(name: str, example: Example, worker: CellwrightWorker) -> Mapping[str, Any]:
    """The data, and the notebook with its report beside it; gives the delivery back, or why there is none."""
    await anyio.run_process([sys.executable, str(EXAMPLES / example.generator)])
    folder = EXAMPLES / name
    folder.mkdir(exist_ok=True)
    notebook, report = folder / f"{name}.py", folder / f"{name}.report.html"
    kept = {path: path.read_bytes() for path in (notebook, report) if path.exists()}
    for path in kept:
        path.unlink()
    data = [word for path in example.data for word in ("--data", str(EXAMPLES / path))]
    words = ["run", example.goal, *data, "--notebook", str(notebook), "--project", str(EXAMPLES), "--model", ANALYST]
    told = await worker.command([*words, "--depth", example.depth, "--approve", "never", "--json"], folder)
    delivery = read_delivery(told.stdout) or {"status": "failed", "why": told.stderr.decode(errors="replace")[-800:]}
    if delivery["status"] != "done":
        for path, content in kept.items():
            path.write_bytes(content)
    return delivery


if __name__ == "__main__":
    sys.exit(main())
