"""`cellwright research`, `extract`, `runs cards` and `runs reject-card`, as somebody types them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from cellwright.agents.events import EvidenceNoted
from cellwright.journal.names import stream_of
from cellwright.models.client.gateway_process import running_pid
from cellwright.runs.events import CardRejected
from cellwright.runs.goal.goal import goal_json
from cellwright.testing import ProviderServer
from cellwright.tools.evidence.card import EvidenceCard
from tests.cli.in_process import Said, run_here
from tests.cli.researched_alone import MODELS
from tests.cli.told_runs import a_goal, has_ended, open_told
from tests.models.testbed import ModelTestbed, Warm
from tests.runs import research_script as script
from tests.runs.extract.invoices import script_reader, write_invoices

CARD = EvidenceCard(
    id="c1234567", source="s", name="eggs.md", page=2, start=4, end=16, quote="Twelve  eggs.", says="There are 12."
)
QUICK = ("--effort", "quick", "--approve", "never", "--project", ".")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("research", "Why?", "--data", "nowhere"), "nowhere"),
        (("research", "Why?", "--data", "papers", "--as", "poem"), "No form 'poem'"),
        (("research", "Why?", "--data", "papers", "--as", "memo.md"), "'memo.md' cannot be read"),
        (("research", "Why?", "--data", "papers", "--web", "--search", "google:x"), "no search engine"),
        (("research", "Why?", "--data", "papers", "--json", "--as", "poem"), "No form 'poem'"),
        (("extract", "party", "nowhere"), "nowhere"),
        (("research", "What?", "--data", "papers", "--search", "brave:b"), "--search needs --web"),
        (("extract", "party", "papers"), "There are no documents in these folders"),
        (("extract", "party, amount:colour", "papers", "--json"), "is no type of a field"),
        (("extract", "cost_usd:number", "papers"), "cost_usd"),
    ],
)
def test_a_mistake_is_said_with_what_to_do_before_anything_starts(
    tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "papers").mkdir()
    said = run_here(tmp_path / "home", *words, code=2, folder=tmp_path)
    assert says in said.stderr
    assert "hint:" in said.stderr
    assert not (tmp_path / "home" / "journal.db").exists()


async def test_cards_are_listed_with_their_quote_and_those_that_were_left_out(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:

        async def looks(*words: str) -> Said:
            return await anyio.to_thread.run_sync(
                lambda: run_here(tmp_path, "runs", "cards", "r", "--database", str(tmp_path / "journal.db"), *words)
            )

        await journal.run("run", goal_json(a_goal("Why?", wants="research")), run="r")
        await has_ended(journal, "r")
        assert "It found nothing." in (await looks()).stderr
        await journal.log.append(stream_of("r"), EvidenceNoted(card=CARD))
        assert (await looks()).stdout == "c1234567  There are 12.\n    eggs.md, p. 2: “Twelve eggs.”\n"
        await journal.log.append(stream_of("r"), CardRejected(card=CARD.id, by="ada"))
        assert (await looks()).stdout.startswith("c1234567 (rejected)  There are 12.")
        found = json.loads((await looks("--json")).stdout)
        assert (found["run"], found["rejected"], found["cards"][0]["quote"]) == ("r", ["c1234567"], "Twelve  eggs.")


# ── whole ──


@dataclass(frozen=True, slots=True, kw_only=True)
class Somebody:
    """With a project, and a model on loopback."""

    home: Path
    project: Path
    provider: ProviderServer

    def types(self, *words: str, code: int | None = 0) -> Said:
        return run_here(self.home, *words, code=code, folder=self.project)

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.types(*words, "--json", code=code).stdout.splitlines()[-1])


@pytest.fixture
def somebody(tmp_path: Path) -> Generator[Somebody]:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir(mode=0o700)
    project.mkdir()
    with ProviderServer.running() as provider:
        (home / "models.toml").write_text(MODELS.format(chat=provider.base_url("openai-chat")))
        found = Somebody(home=home, project=project, provider=provider)
        try:
            yield found
        finally:
            found.types("serve", "stop", code=None)
            if (pid := running_pid(home)) is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_research_is_read_its_cards_are_shown_and_one_of_them_is_left_out(somebody: Somebody) -> None:
    script.write_documents(somebody.project / "papers")
    (somebody.project / "memo.md").write_text("# To the board\n\n## What happened\n")
    script.script_research(somebody.provider)
    ask = ("research", script.QUESTION, "--data", "papers", "--as", "memo.md", "--notebook", "norwell.py", *QUICK)
    delivery = somebody.json(*ask)
    assert (delivery["kind"], delivery["status"], delivery["why"]) == ("delivery", "done", "")
    writers = [str(each.body) for each in somebody.provider.requests if script.WRITER(each)]
    assert all("To the board" in each for each in writers)
    assert script.STAFF in somebody.types("runs", "cards", "last").stdout
    refused = somebody.types("runs", "reject-card", "last", "c0000000", code=2)
    assert "No card 'c0000000' in this run." in refused.stderr
    assert f"`cellwright runs cards {delivery['run']}` lists them." in refused.stderr
    somebody.provider.when(script.WRITER, script.finish(text=script.TRUE_ALONE))
    somebody.provider.when(script.EDITOR, script.finish(title="Norwell Mills", summary=script.TRUE_ALONE))
    again = somebody.json("runs", "reject-card", "last", script.FALSE_CARD)
    assert again == {"run": again["run"], "continues": delivery["run"], "card": script.FALSE_CARD}
    somebody.types("runs", "watch", again["run"])
    assert somebody.json("runs", "cards", again["run"])["rejected"] == [script.FALSE_CARD]
    assert script.WRONG not in (somebody.project / "norwell.py").read_text()


@pytest.mark.slow
def test_rows_are_extracted_into_tables_beside_a_notebook(somebody: Somebody) -> None:
    invoices = write_invoices(somebody.project / "papers", 3)
    testbed = ModelTestbed(home=somebody.home, provider=somebody.provider, warm=Warm(socket="/nowhere"))
    script_reader(testbed, *((each.name, [each.said()]) for each in invoices))
    ask = ("extract", "party, date:date, amount:number", "papers", "--notebook", "sums.py", "--cap", "1")
    delivery = somebody.json(*ask, "--project", ".")
    assert (delivery["kind"], delivery["status"], delivery["why"]) == ("delivery", "done", "")
    rows = (somebody.project / "sums.extraction" / "rows.csv").read_text().splitlines()
    assert rows[0] == "document,row,party,date,amount,marks,cost_usd"
    assert len(rows) == 4
    assert "3 rows from 3 documents" in somebody.types("runs", "watch", "last").stdout
