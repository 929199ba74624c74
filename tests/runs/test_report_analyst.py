"""The analyst's charts in the report: every kind it writes is drawn, as a real kernel shows it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from cellwright.analyst.drafts import TestRow
from cellwright.analyst.methods import pairs
from cellwright.analyst.methods.source import source_cells
from cellwright.analyst.sections import charts
from cellwright.analyst.sections.attribution import _chart as explaining_chart
from cellwright.analyst.sections.charts import chart_functions, finding_chart
from cellwright.analyst.sections.selection import ReportedFinding
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.chart_cage import ChartCage
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.runs.deliver.report.outputs import Charts, output_html
from cellwright.runs.deliver.report.report import draw_charts
from cellwright.sandbox.host.tiers import probe

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

TABLE = """
t = pd.DataFrame({"price": np.random.default_rng(0).lognormal(3, 1, 400)})
t["weight"] = t["price"] * 2 + np.random.default_rng(1).normal(0, 5, 400)
t["town"] = np.where(t.index % 3 == 0, "Oslo", "Bergen & <Voss>")
t["kind"] = np.where(t.index % 4 == 0, "a", "b")
t["hole"] = t["weight"].where(t.index % 5 > 0)
t["day"] = pd.Timestamp("2024-01-03") + pd.to_timedelta(t.index, unit="D")
parts = {"town": pd.DataFrame({"label": ["Oslo", "Bergen"], "change": [-120.5, 30.0], "first": 1.0, "second": 2.0})}
parts["town"][["amount", "rate", "share"]] = 0.5
"""


def _finding(kind: Any, y: str, x: str, *, n: int = 400, unit: str = "month") -> ReportedFinding:
    row = TestRow(
        kind=kind, table="t", y=y, x=x, test=f"by {unit}", n=n, statistic=1.0, p=0.01, p_adjusted=0.02, effect=0.5,
        effect_name="rank-biserial", low=0.4, high=0.6, checked="", says="it differs", is_finding=True,
    )  # fmt: skip
    spans = (("2024-04-01", "2024-06-30"), ("2024-07-01", "2024-09-30"))
    return ReportedFinding(
        row=row, is_asked=True, variable="None", topic="what is shown", y_label=f"{y} (EUR)", x_label=x, spans=spans
    )


FINDINGS = [
    _finding("difference", "price", "town"),
    _finding("association", "kind", "town"),
    _finding("correlation", "weight", "price"),
    _finding("correlation", "weight", "price", n=9_000),
    _finding("trend", "price", "day"),
    _finding("break", "price", "day"),
    _finding("change", "price", "day"),
    *(_finding("season", "price", "day", unit=unit) for unit in ("hour", "weekday", "month", "quarter")),
]
FIRST_LOOKS = [
    charts.histogram("t", "price", label="price (EUR)"),
    charts.histogram("t", "price", label="price (EUR)", is_log=True),
    charts.bars("t", "town", label="town"),
    charts.rows_over_time("t", "day", step="MS", label="day"),
    charts.measure_over_time("t", "price", "day", step="W-MON", label="price", when_label="day", how="sum"),
    charts.missing_map("t", '["price", "hole", "town", "day"]', title="Where values are missing"),
    explaining_chart("parts", "chosen", "price").replace("{chosen.value}", "town"),
]


@pytest.mark.slow
async def test_every_chart_the_analyst_writes_is_drawn_in_the_report(opened: Opener, pool: KernelPool) -> None:
    methods = "\n\n".join(inspect.getsource(held) for _, held in inspect.getmembers(pairs, inspect.isfunction))
    needed = source_cells(dict.fromkeys(name for one in FINDINGS for name in chart_functions(one)))
    cells = [
        "import altair as alt\nimport numpy as np\nimport pandas as pd\nfrom scipy import stats",
        TABLE,
        methods,
        "from types import SimpleNamespace\nchosen = SimpleNamespace(value='town')",
        "def largest_parts(table):\n    return table",
        *(cell.code for cell in needed),
    ]
    drawing = [*FIRST_LOOKS, *map(finding_chart, FINDINGS)]
    async with opened(*cells, *drawing) as notebook:
        await notebook.run("all")
        outcomes = [notebook.outcomes[cell.id] for cell in notebook.document.cells]
    assert [outcome.error for outcome in outcomes if outcome.error] == []
    cage = ChartCage(zygote=await pool.zygote(), tier=probe().tier)
    charts = Charts(await draw_charts({outcome.id: outcome for outcome in outcomes}, cage.draw))
    for code, outcome in zip(drawing, outcomes[-len(drawing) :], strict=True):
        html = output_html(outcome, charts)
        assert html.startswith('<img src="data:image/svg+xml;base64,') and "open the notebook" not in html, code
