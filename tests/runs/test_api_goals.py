"""Goals about an API: what it can be asked are tools of the agent, and what changes something is asked of a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.messages import ListStatements
from cellwright.policy.approvals import Yes
from cellwright.runs.goal.goal import Approve, Goal
from cellwright.testing import CallTool
from tests.app.web_services import API_SECRET, ApiServer, api_server, name_api
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Factory, Kernels, apply, create, finish, open_factory

DOCUMENT = '{"openapi": "3.1.0", "paths": {"/v1/birds": {"get": {"operationId": "listBirds"}}}}'
ANSWER = apply(create("answer = 27", "answer"), create("def test_it():\n    assert answer > 1", "check_answer"))
NOTE = CallTool("send", {"connection": "crm", "method": "POST", "path": "/v1/notes", "body": '{"text": "seen"}'})


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as server:
        yield server


@pytest.fixture
async def client(testbed: ModelTestbed, api: ApiServer, tmp_path: Path) -> AsyncGenerator[BrokerClient]:
    document = tmp_path / "birds.json"
    document.write_text(DOCUMENT)
    api.heard.clear()
    name_api(testbed.home, api.connection(methods="GET,POST", openapi=f"file:{document}"))
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


def goal_of(factory: Factory, approve: Approve = "ask") -> Goal:
    return replace(factory.goal("Weigh the birds, and note it."), connections=("crm",), approve=approve)


@pytest.mark.slow
async def test_an_agent_reads_by_tools_of_the_document_and_changes_what_a_person_agrees_to(
    testbed: ModelTestbed, project: Path, kernels: Kernels, api: ApiServer, client: BrokerClient
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(CallTool("crm_list_birds", {}), NOTE, ANSWER, finish("They weigh {answer} g."))
        await factory.start(goal_of(factory))
        asked = await factory.answer(Yes(reach="once"))
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        told = factory.prompts()
    assert "Change data through the connection crm" in asked
    assert "POST /v1/notes" in asked
    assert '"text": "seen"' in asked
    assert "2 rows and 2 columns from 1 page with 1 request" in told[1]
    assert api.heard == ["GET /v1/birds", "POST /v1/notes"]
    assert not any(API_SECRET in each for each in told)
    lines = await client.statements(ListStatements(run="r"))
    assert sorted((line.statement, line.outcome) for line in lines) == [
        ("GET /v1/birds", "done"),
        ("POST /v1/notes", "done"),
    ]


@pytest.mark.slow
async def test_where_nobody_is_asked_nothing_is_changed_and_the_agent_is_told(
    testbed: ModelTestbed, project: Path, kernels: Kernels, api: ApiServer, client: BrokerClient
) -> None:
    del client
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(CallTool("crm_list_birds", {}), NOTE, ANSWER, finish("They weigh {answer} g."))
        await factory.deliver(goal_of(factory, "never"))
        told = factory.prompts()
    assert api.heard == ["GET /v1/birds"]
    refused = told[2].rpartition("Refused: ")[2]
    assert "query-connection" in refused[:400], refused[:400]
