"""The pictures of the first screen: a marked cell's, the last chart's, or a small table drawn; each once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot

from cellwright.ids import CellId
from cellwright.kernel.observation import CellFault, CellOutcome, CellOutput
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, apply_edits
from cellwright.runs.deliver.delivery import DeliveredFinding, Delivery
from cellwright.runs.deliver.report.outputs import Charts
from cellwright.runs.deliver.report.pictures import charts_of_tables, labelled_numbers, with_pictures
from cellwright.runs.deliver.report.report import report_html
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
IMAGE = CellOutput(mimetype="image/svg+xml", text="", data=SVG)
WORDS = CellOutput(mimetype="text/plain", text="", data="words")
FOUND = DeliveredFinding(says="It fell.")


def table(rows: list[dict[str, Any]], total: int | None = None) -> CellOutput:
    data = json.dumps(json.dumps(rows)).replace("'", "&#39;")
    markup = (
        f"<marimo-ui-element><marimo-table data-data='{data}' data-total-rows='{total or len(rows)}'></marimo-table>"
    )
    return CellOutput(mimetype="text/html", text="", data=f"{markup}</marimo-ui-element>")


SPECIES = table([{"species": "Adelie", "grams": 3700.5}, {"species": "Gentoo", "grams": 5076}])


def notebook(**outputs: CellOutput | None) -> tuple[Document, dict[CellId, CellOutcome]]:
    document = apply_edits(Document.new(), [CreateCell(code=f"x_{name} = 1", name=name) for name in outputs])
    assert isinstance(document, Document)
    return document, {
        cell.id: CellOutcome(id=cell.id, name=cell.name, status="ok", output=outputs[cell.name])
        for cell in document.cells
    }


def placed(delivery: Delivery, **outputs: CellOutput | None) -> tuple[str, list[str]]:
    """The picture's cell and those of the findings, all charts being drawn."""
    document, outcomes = notebook(**outputs)
    charts = Charts()
    for spec in charts_of_tables(delivery, document, outcomes):
        charts.html(spec)
    found = with_pictures(delivery, document, outcomes, dict.fromkeys(charts.found, SVG))
    return found.picture, [finding.cell for finding in found.findings]


def delivery(*findings: DeliveredFinding, picture: str = "") -> Delivery:
    return Delivery(status="done", goal="g", headline="It fell.", findings=findings, picture=picture)


# ── which ──


def test_a_cell_that_is_named_so_is_the_picture_whatever_comes_after_it() -> None:
    assert placed(delivery(), report_picture=IMAGE, later=IMAGE) == ("report_picture", [])


def test_the_cell_that_was_told_comes_before_a_mark_if_it_shows_a_picture() -> None:
    outputs = {"told": IMAGE, "report_picture": IMAGE}
    assert placed(delivery(picture="told"), **outputs)[0] == "told"
    assert placed(delivery(picture="told"), **(outputs | {"told": WORDS}))[0] == "report_picture"
    assert placed(delivery(picture="gone"), told=IMAGE)[0] == "told"


def test_without_a_mark_the_last_chart_is_the_picture_and_no_table_that_comes_after_it() -> None:
    assert placed(delivery(), first=IMAGE, last=IMAGE, species=SPECIES) == ("last", [])


def test_without_a_chart_a_small_table_that_is_the_last_result_is_drawn() -> None:
    assert placed(delivery(), words=WORDS, species=SPECIES) == ("species", [])
    assert placed(delivery(), species=SPECIES, words=WORDS) == ("", [])
    assert placed(delivery(), words=WORDS, nothing=None) == ("", [])


def test_findings_have_the_pictures_that_were_told_or_marked_and_none_twice() -> None:
    second = replace(FOUND, says="It rose.", cell="told")
    outputs = {"told": IMAGE, "report_finding_1": IMAGE, "report_finding_2": IMAGE, "chart": IMAGE}
    assert placed(delivery(FOUND, second), **outputs) == ("chart", ["report_finding_1", "told"])
    assert placed(delivery(replace(FOUND, cell="told"), second, picture="told"), **outputs) == (
        "told",
        ["", "report_finding_2"],
    )
    assert placed(delivery(FOUND, second), report_picture=IMAGE) == ("report_picture", ["", ""])


def test_a_cell_that_failed_shows_no_picture() -> None:
    document, outcomes = notebook(report_picture=IMAGE)
    cell = document.cells[0].id
    outcomes[cell] = replace(outcomes[cell], error=CellFault(type="ValueError", message="no"))
    assert with_pictures(delivery(), document, outcomes, {}).picture == ""


def test_a_terminal_can_draw_the_table_that_is_the_picture() -> None:
    document, outcomes = notebook(species=SPECIES)
    charts = Charts()
    for spec in charts_of_tables(delivery(FOUND), document, outcomes):
        charts.html(spec)
    found = with_pictures(delivery(FOUND), document, outcomes, dict.fromkeys(charts.found, SVG))
    assert found.findings[0].bars == (("Adelie", 3700.5), ("Gentoo", 5076.0))


def test_a_picture_stands_once_and_its_cell_leads_to_it() -> None:
    document, outcomes = notebook(report_picture=IMAGE, other=IMAGE)
    page = report_html(delivery(picture="report_picture"), document, outcomes)
    assert page.count("<img ") == 2
    assert page.count('Its picture stands <a href="#picture">at the top</a>') == 1
    assert 'alt="It fell."' in page, "those who cannot see it hear what it is about"


# ── a table as a chart ──


def outcome(output: CellOutput) -> CellOutcome:
    return CellOutcome(id=CellId("a"), name="a", status="ok", output=output)


def test_labels_become_bars_and_dates_a_line() -> None:
    bars = labelled_numbers(outcome(SPECIES))
    assert bars is not None
    assert bars.chart() == snapshot(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "mark": {"type": "bar", "color": "#0072B2"},
            "data": {"values": [{"label": "Adelie", "number": 3700.5}, {"label": "Gentoo", "number": 5076.0}]},
            "encoding": {
                "y": {"field": "label", "type": "ordinal", "sort": None, "title": "species"},
                "x": {"field": "number", "type": "quantitative", "title": "grams"},
            },
            "width": 560,
            "height": {"step": 26},
        }
    )
    months = labelled_numbers(outcome(table([{"month": f"2025-0{n}", "sales": n} for n in range(1, 9)])))
    years = labelled_numbers(outcome(table([{"year": 2000 + n, "sales": n * 7000} for n in range(5)])))
    assert [each.chart()["mark"]["type"] for each in (months, years) if each] == ["line", "line"]


@pytest.mark.parametrize(
    "output",
    [
        WORDS, IMAGE,
        table([{"species": "Adelie", "grams": 3700.5}]),
        table([{"species": f"s{n}", "grams": n} for n in range(31)]),
        table([{"species": "Adelie", "grams": 1}, {"species": "Gentoo", "grams": 2}], total=900),
        table([{"species": "Adelie", "grams": 1}, {"species": "Adelie", "grams": 2}]),
        table([{"species": "Adelie", "grams": 1}, {"species": "Gentoo", "grams": None}]),
        table([{"species": "Adelie", "grams": 1}, {"species": "Gentoo", "grams": float("inf")}]),
        table([{"species": "Adelie", "grams": True}, {"species": "Gentoo", "grams": False}]),
        table([{"a": 1, "b": 1}, {"a": 2, "b": 2}]),
        table([{"a": "x", "b": "y"}, {"a": "z", "b": "w"}]),
        table([{"a": "x", "b": 1, "c": 1}, {"a": "z", "b": 2, "c": 2}]),
        table([{"a": ["x"], "b": 1}, {"a": ["z"], "b": 2}]),
        CellOutput(mimetype="text/html", text="", data="<marimo-table data-data='[[' data-total-rows='2'>"),
    ],
)  # fmt: skip
def test_any_other_output_is_no_table_that_is_drawn(output: CellOutput) -> None:
    assert labelled_numbers(outcome(output)) is None


# ── of agents ──

FRAME = "import altair as alt\nimport pandas as pd\nkg = pd.DataFrame({'kind': ['a', 'b'], 'kg': [1.5, 2.5]})"
CHART = "alt.Chart(kg).mark_bar().encode(x='kind', y='kg').properties(title='{}')"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "picture", "alt"),
    [
        (
            {"report_picture": CHART.format("Marked"), "later": CHART.format("Later")},
            "report_picture",
            "Marked (chart (bar), across: kind, up: kg)",
        ),
        (
            {"first": CHART.format("First"), "last": CHART.format("Last"), "shown": "kg"},
            "last",
            "Last (chart (bar), across: kind, up: kg)",
        ),
        ({"shown": "kg"}, "shown", "chart (bar), across: kg, up: kind"),
        ({"words": "'no picture'"}, "", ""),
    ],
    ids=["a mark", "a chart", "a table", "neither"],
)
async def test_an_agents_report_begins_with_its_answer_and_its_picture(
    testbed: ModelTestbed, project: Path, kernels: Kernels, cells: dict[str, str], picture: str, alt: str
) -> None:
    made = [create(FRAME, "frame"), *(create(code, name) for name, code in cells.items())]
    test = create("def test_masses():\n    assert heaviest == 2.5", "check_masses")
    heaviest = create("heaviest = float(kg.kg.max())", "heaviest")
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            at_once(apply(heaviest, test, *made), finish("The **b** weighs {heaviest:.1f} kg. The a weighs less."))
        )
        delivery = await factory.deliver()
    assert (delivery.why, delivery.status) == ("", "done")
    assert delivery.headline == "The b weighs 2.5 kg."
    assert [finding.says for finding in delivery.findings] == ["The a weighs less."]
    assert delivery.picture == picture
    assert delivery.trust == "1 check passed in a fresh environment."
    page = await anyio.Path(delivery.report).read_text()
    assert '<h1 id="headline">The b weighs 2.5 kg.</h1>' in page
    assert ('<figure class="picture" id="picture"><img src="data:image/svg+xml;base64,' in page) == bool(picture)
    assert f'alt="{alt}"' in page or not alt
