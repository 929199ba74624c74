"""The API against its own document: whatever fits its shapes or just misses them, no answer is the server's fault."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure, Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.core.failures import FailureGroup

from cellwright.app.live_notebooks import notebook_id
from cellwright.journal.names import stream_of
from cellwright.kernel.pool import KernelPool
from cellwright.runs.events import GoalSet
from cellwright.server.editor import open_editor
from cellwright.server.http.auth.middleware import RequestLimits, RequestRate
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed, Warm
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import a_goal
from tests.server.http.a_served_folder import API, SECONDS, Served, no_keyring, serve, tiny_runs

# The server's thread draws random numbers meanwhile, which Hypothesis takes for the strategy's.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

_ENDLESS: Final = {"follow_run", "follow_house", "follow_notebook"}
_RUN: Final = "r"
_ANY_RATE: Final = RequestRate(at_once=1_000_000, per_second=1_000_000)
_SEEN: Final = ("not_a_server_error", "response_schema_conformance", "content_type_conformance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A served folder: a run that waits for an answer, a notebook that is open."""

    served: Served
    address: str
    schema: Any
    known: dict[str, list[str]]
    """Names that exist, by the parameter they fit."""

    def headers(self) -> dict[str, str]:
        return self.served.bearing("admin")


@pytest.fixture(scope="module")
async def api(
    tmp_path_factory: pytest.TempPathFactory, template: Path, warm_gateway: Warm, pool: KernelPool
) -> AsyncGenerator[Api]:
    folder = tmp_path_factory.mktemp("openapi")
    limits = RequestLimits(token=_ANY_RATE, address=_ANY_RATE, stranger=_ANY_RATE)
    with ModelTestbed.open(folder / "home", warm_gateway) as gateway, no_keyring():
        async with (
            tiny_runs(folder, template) as testbed,
            open_editor() as editor,
            serve(
                folder / "folder", *testbed, pool=pool, limits=limits, editor=editor, launch=gateway.launch()
            ) as served,
        ):
            yield await _furnish(served)


async def _furnish(served: Served) -> Api:
    notebook = served.folder / "sums.py"
    await anyio.Path(notebook).write_text(notebook_source("total = 40 + 2", "total"))
    live = served.testbed.live
    await live.start(a_goal(ASK), run=_RUN)
    await live.records.log.append(stream_of(_RUN), GoalSet(goal=a_goal()))
    with anyio.fail_after(SECONDS):
        news = live.records.log.growth.next()
        while not (pending := await live.records.questions.pending(_RUN)):
            await news.wait()
            news = live.records.log.growth.next()
    await served.post("/notebooks", {"path": "sums.py"})
    schema = schemathesis.openapi.from_dict(await served.get("/openapi.json"))
    # The same characters as of UTF-8, without asking that codec about each of a million.
    schema.config.generation.codec = None
    known: dict[str, list[str]] = {
        "run": [_RUN],
        "question": [str(pending[0].id)],
        "notebook": [notebook_id(notebook)],
        "provider": ["openai", "near"],
        "path": ["sums.py", ".", "data"],
    }
    return Api(
        served=served,
        address=str(served.client.base_url),
        schema=schema,
        known=known,
    )


def _names(api: Api, path: str, parameter: str) -> list[str]:
    """What exists and fits this parameter of this path."""
    if parameter == "id":
        parameter = "question" if "/questions/" in path else "notebook"
    return api.known.get(parameter, [])


def _examine(api: Api, *, examples: int, checks: tuple[str, ...]) -> list[str]:
    """Every operation, with bodies and names that fit and such that do not; what was wrong, in words."""
    wrong: list[str] = []
    chosen, headers = CHECKS.get_by_names(list(checks)), api.headers()
    with requests.Session() as session:
        session.trust_env = False
        for found in api.schema.get_all_operations():
            operation = found.ok()
            if operation.definition.raw["operationId"] in _ENDLESS:
                continue
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                try:
                    _attack(api, session, headers, operation, mode, examples=examples, checks=chosen)
                except (FailureGroup, FlakyFailure) as problem:
                    wrong.append(f"{operation.label} ({mode.value}): {problem}")
    return wrong


def _attack(
    api: Api,
    session: requests.Session,
    headers: dict[str, str],
    operation: Any,
    mode: GenerationMode,
    *,
    examples: int,
    checks: Any,
) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    # Not `derandomize`: for each operation it would read this file again.
    @seed(0)
    @given(case=operation.as_strategy(generation_mode=mode), is_known=st.booleans())
    def attack(case: Any, is_known: bool) -> None:
        for name in case.path_parameters or {}:
            if is_known and (names := _names(api, operation.path, name)):
                case.path_parameters[name] = secrets.choice(names)
        response = case.call(base_url=api.address, session=session, headers=headers, timeout=SECONDS)
        if response.status_code == 401 and _is_over(api, session, headers):
            headers.update(api.headers())
        case.validate_response(response, checks=checks)

    # What takes nothing cannot be given something wrong.
    with suppress(Unsatisfiable):
        attack()


def _is_over(api: Api, session: requests.Session, headers: dict[str, str]) -> bool:
    """Whether the token itself was refused: a case may have sent another one."""
    asked = session.get(f"{api.address.rstrip('/')}{API}/session", headers=headers, timeout=SECONDS)
    return asked.status_code == 401


@pytest.mark.slow
async def test_whatever_is_sent_no_answer_is_the_servers_fault(api: Api) -> None:
    assert await anyio.to_thread.run_sync(lambda: _examine(api, examples=5, checks=_SEEN)) == []


@pytest.mark.slow
@pytest.mark.rare
async def test_whatever_is_sent_at_length_no_answer_is_the_servers_fault(api: Api) -> None:
    assert await anyio.to_thread.run_sync(lambda: _examine(api, examples=30, checks=_SEEN)) == []


async def test_every_operation_says_who_it_is_and_what_it_is_for(api: Api) -> None:
    for found in api.schema.get_all_operations():
        said = found.ok().definition.raw
        assert said["operationId"].isidentifier()
        assert said["summary"]
        assert said["tags"]
    assert API in str(list(api.schema))
