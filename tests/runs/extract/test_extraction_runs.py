"""An extraction is a run: rows equal what documents say, with evidence, whatever documents, models and machines do."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio.to_thread
import psutil
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from cellwright.journal.crash import CrashPoint
from cellwright.journal.events import CostRecorded
from cellwright.journal.names import stream_of
from cellwright.models.client.gateway_client import Models
from cellwright.runs.events import DocumentExtracted
from cellwright.runs.goal.extraction_order import ExtractedField, ExtractionOrder
from cellwright.testing import CallTool, SayJson, Tokens
from tests.agents.forked import Forker
from tests.models.testbed import ModelTestbed
from tests.runs.extract.invoices import PARTIES, script_reader, speaks_of, write_invoices, write_unreadable
from tests.runs.factory import Factory, Kernels, apply, create, finish, open_factory

FIELDS = (
    ExtractedField(name="party"),
    ExtractedField(name="date", type="date"),
    ExtractedField(name="amount", type="number"),
)


def an_order(folder: Path, **more: Any) -> ExtractionOrder:
    return ExtractionOrder(fields=FIELDS, documents=(str(folder),), **more)


def table(factory: Factory, name: str) -> list[dict[str, Any]]:
    return pq.read_table(factory.project / "sums.extraction" / f"{name}.parquet").to_pylist()


@pytest.mark.slow
async def test_rows_are_what_the_documents_say_and_what_is_not_borne_out_is_refused(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    one, two, three = write_invoices(project / "papers", 3)
    (project / "papers" / "note.txt").write_text("No invoice at all.")
    wrong_quote = {"value": "99", "quote": "Total due: 99 EUR", "page": 1}
    wrong_value = {"value": "Somebody Else", "quote": three.quotes["party"], "page": 1}
    script_reader(
        testbed,
        (one.name, [one.said()]),
        (two.name, [two.said(amount=wrong_quote)]),
        (three.name, [three.said(party=wrong_value)]),
        ("note.txt", [{"party": None, "date": None, "amount": None}]),
    )
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(factory.goal("Extract", extraction=an_order(project / "papers")))
        rows, evidence = table(factory, "rows"), table(factory, "evidence")
    assert (delivery.why, delivery.status) == ("", "done")
    found = [(row["document"], row["party"], str(row["date"]), row["amount"], row["marks"]) for row in rows]
    assert found == [
        (one.name, *one.truth.values(), ""),
        (two.name, two.truth["party"], two.truth["date"], None,
         "amount: refused: its quote does not stand in the document"),
        (three.name, None, three.truth["date"], three.truth["amount"], "party: refused: its quote does not say it"),
        ("note.txt", None, "None", None, "party: not found; date: not found; amount: not found"),
    ]  # fmt: skip
    assert [(each["page"], each["quote"]) for each in evidence[:3]] == [(1, quote) for quote in one.quotes.values()]


@pytest.mark.slow
async def test_what_two_readings_differ_in_is_marked_and_costs_are_told_for_each_document(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    one, two = write_invoices(project / "papers", 2)
    other = {"value": PARTIES[0], "quote": "Thank you.", "page": 1}
    testbed.provider.when(speaks_of(one.name), SayJson({"rows": [one.said()]}), for_ever=True)
    answers = [SayJson({"rows": [two.said()]}), SayJson({"rows": [two.said(party=other)]})]
    testbed.provider.when(speaks_of(two.name), *answers)
    async with open_factory(testbed, project, kernels) as factory:
        order = an_order(project / "papers", readings=2)
        delivery = await factory.deliver(factory.goal("Extract", extraction=order))
        rows, evidence = table(factory, "rows"), table(factory, "evidence")
        told = [each.event async for each in factory.runs.records.log.read_all(stream_of("r"))]
    assert delivery.status == "done"
    assert [(row["party"], row["marks"]) for row in rows] == [
        (one.truth["party"], ""),
        (None, "party: two readings differ"),
    ]
    assert {each["said"] for each in evidence if each["mark"] == "two readings differ"} == {two.truth["party"]}
    documents = [each for each in told if isinstance(each, DocumentExtracted)]
    assert [(each.document, each.rows, each.marked) for each in documents] == [(one.name, 1, 0), (two.name, 1, 1)]
    assert sum(isinstance(each, CostRecorded) for each in told) == 4


async def test_an_extraction_stops_at_its_cap_and_delivers_what_it_has(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    invoices = write_invoices(project / "papers", 3)
    script_reader(testbed, *((each.name, [each.said()]) for each in invoices))
    async with open_factory(testbed, project, kernels) as factory:
        goal = factory.goal("Extract", extraction=an_order(project / "papers"), budget_usd=Decimal("0.000001"))
        delivery = await factory.deliver(goal)
    assert delivery.status == "failed"
    assert "The cap is reached" in delivery.why
    assert "3 documents are left" in delivery.why
    assert "tables" not in delivery.answer and not (project / "sums.extraction").exists()
    assert testbed.provider.requests == ()


@pytest.mark.slow
async def test_a_cap_that_is_reached_on_the_way_delivers_the_rows_there_are(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    invoices = write_invoices(project / "papers", 6)
    for each in invoices:
        # A quarter of a dollar: four of them are all there is.
        tokens = Tokens(input_tokens=250_000, output_tokens=0)
        testbed.provider.when(speaks_of(each.name), SayJson({"rows": [each.said()]}, tokens=tokens))
    async with open_factory(testbed, project, kernels) as factory:
        goal = factory.goal("Extract", extraction=an_order(project / "papers"), budget_usd=Decimal(1))
        delivery = await factory.deliver(goal)
        rows = table(factory, "rows")
        told = [each.event async for each in factory.runs.records.log.read_all(stream_of("r"))]
    assert delivery.status == "partial"
    assert "The cap is reached" in delivery.why
    assert delivery.why.endswith("2 documents are left.")
    assert delivery.answer.startswith("4 rows from 4 documents: 12 of 12 values stand in their documents")
    assert [row["amount"] for row in rows] == [each.truth["amount"] for each in invoices[:4]]
    assert len(testbed.provider.charged) == 4
    assert [row["cost_usd"] for row in rows] == [0.25] * 4
    lines = [each.line() for each in told if isinstance(each, DocumentExtracted)]
    assert lines[0] == f"document 1 of 6, {invoices[0].name}: 1 row, $0.2500"


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


@pytest.mark.sampled(4, often=2)
@pytest.mark.parametrize(
    ("point", "visit"),
    [
        (CrashPoint.STEP_WORKED, 6),
        (CrashPoint.STEP_COMMITTING, 5),
        (CrashPoint.STEP_COMMITTED, 9),
        (CrashPoint.RUN_TOLD, 1),
    ],
)
async def test_an_extraction_killed_anywhere_reads_and_pays_for_each_document_once(
    testbed: ModelTestbed,
    project: Path,
    cache: Path,
    killed: Forker,
    gateway: Models,
    point: CrashPoint,
    visit: int,
) -> None:
    *invoices, odd = write_invoices(project / "papers", 6)
    wrong_quote = {"value": "99", "quote": "Total due: 99 EUR", "page": 1}
    script_reader(
        testbed, *((each.name, [each.said()]) for each in invoices), (odd.name, [odd.said(amount=wrong_quote)])
    )
    order = TypeAdapter(ExtractionOrder).dump_python(an_order(project / "papers"), mode="json")
    goal = json.dumps({"extraction": order})
    arguments = (str(testbed.home), str(cache), str(project))
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit), "null", goal)
    before = {path: path.stat().st_ino for path in (testbed.home / "documents").rglob("*.json")}
    second = await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1", "null", goal)
    after = {path: path.stat().st_ino for path in (testbed.home / "documents").rglob("*.json")}
    assert (first, second) == (-9, 0)
    assert before.items() <= after.items()
    assert len(after) == len(testbed.provider.charged) == 6
    assert json.loads((testbed.home / "delivery.json").read_text())["status"] == "done"
    rows, evidence = (
        pq.read_table(project / "sums.extraction" / f"{name}.parquet").to_pylist() for name in ("rows", "evidence")
    )
    assert [(row["party"], row["amount"], row["marks"]) for row in rows] == [
        *((each.truth["party"], each.truth["amount"], "") for each in invoices),
        (odd.truth["party"], None, "amount: refused: its quote does not stand in the document"),
    ]
    assert [each["quote"] for each in evidence[:3]] == list(invoices[0].quotes.values())


@pytest.mark.slow
async def test_three_hundred_documents_give_what_was_planted_and_the_unreadable_are_told(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    papers = project / "papers"
    invoices = write_invoices(papers, 280)
    write_unreadable(papers, 18)
    script_reader(testbed, *((each.name, [each.said()]) for each in invoices))
    before = psutil.Process().memory_info().rss
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(factory.goal("Extract", extraction=an_order(papers)))
        rows, evidence, skipped = (table(factory, name) for name in ("rows", "evidence", "skipped"))
    assert (delivery.why, delivery.status) == ("", "done")
    assert [row | {"date": str(row["date"])} for row in rows] == [
        {"document": each.name, "row": 1, **each.truth, "marks": "", "cost_usd": 0.00002} for each in invoices
    ]
    assert len(evidence) == 3 * 280
    assert all(each["quote"] and each["page"] for each in evidence)
    reasons = Counter(each["reason"] for each in skipped)
    assert reasons == {"no-text": 18, "broken": 1, "crash": 1}
    assert len(testbed.provider.charged) == 280
    # Of all the documents together, and of the hostile one, little stays.
    assert psutil.Process().memory_info().rss - before < 400 << 20


@pytest.mark.slow
async def test_an_agent_gets_rows_with_evidence_out_of_documents_its_goal_names(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    one, two = write_invoices(project / "papers", 2)
    script_reader(testbed, *((each.name, [each.said()]) for each in (one, two)))
    call = CallTool("extract", {"fields": "party, date:date, amount:number", "documents": ["papers"]})
    code = (
        'import pandas as pd\nrows = pd.read_parquet(mo.notebook_dir() / "sums.extraction" / "rows.parquet")\nlen(rows)'
    )
    testbed.provider.script(call, apply(create(code, "rows")), finish("Two."))
    async with open_factory(testbed, project, kernels) as factory:
        await factory.start(factory.goal("Who pays?", data=(str(project / "papers"),)))
        # It writes files into the project, and so is asked about as every other that does.
        assert "rows.parquet" in await factory.say_yes()
        delivery = await factory.delivery()
        rows, prompts = table(factory, "rows"), factory.prompts()
    assert (delivery.why, delivery.answer) == ("", "Two.")
    assert [row["party"] for row in rows] == [one.truth["party"], two.truth["party"]]
    assert any("6 of 6 values stand in their documents" in prompt for prompt in prompts)
