"""Settings over HTTP: where things are, roles, skills, rules, why something would be asked, and the doctor."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from cellwright.agents.role import built_in_roles
from cellwright.sandbox.host.tiers import probe
from tests.app.agents_at_work import accept_all
from tests.server.http.a_served_folder import API, RunsTestbed, Served, serve, tiny_runs

ROLE = "---\nname: tidier\ndescription: Tidies up.\n---\nYou tidy up.\n"
SKILL = "---\nname: count-beans\ndescription: When beans are to be counted.\n---\nCount twice.\n"
RULES = '[[rule]]\naction = "use-network"\nthen = "deny"\nhosts = ["*.example.org"]\nreason = "Not from here."\n'


@pytest.fixture(scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[RunsTestbed]:
    async with tiny_runs(tmp_path_factory.mktemp("live"), template) as found:
        yield found


@pytest.fixture(scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory, live: RunsTestbed) -> AsyncGenerator[Served]:
    async with serve(tmp_path_factory.mktemp("served") / "folder", *live) as opened:
        yield opened


@pytest.fixture
async def served(door: Served) -> AsyncGenerator[Served]:
    yield door
    await door.clear()


def put(served: Served, path: str, text: str) -> None:
    file = served.folder / ".cellwright" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def why(served: Served, **action: Any) -> tuple[str, str]:
    said = await served.post("/rules/why", action, headers=served.bearing("read"))
    return said["verdict"], said["basis"]


async def test_settings_tell_where_things_are(served: Served) -> None:
    told = await served.get("/settings")
    assert (told["folder"], told["state_directory"]) == (str(served.folder), str(served.testbed.settings.home))
    assert told["tier"] == probe().tier


async def test_roles_are_ours_and_those_of_the_folder_that_a_person_accepted(served: Served) -> None:
    put(served, "roles/tidier.md", ROLE)
    assert {role["name"] for role in (await served.get("/roles"))["roles"]} == set(built_in_roles())
    accept_all(served.testbed.settings.home, served.folder)
    roles = {role["name"]: role for role in (await served.get("/roles"))["roles"]}
    assert roles.keys() == {"tidier", *built_in_roles()}
    assert [name for name, role in roles.items() if role["is_own"]] == ["tidier"]
    assert roles["tidier"]["prompt"] == "You tidy up."


async def test_a_role_with_a_mistake_is_told_with_its_file(served: Served) -> None:
    put(served, "roles/broken.md", "---\nname: B R O K E N\n---\n")
    refused = await served.get("/roles", status=400)
    assert "roles/broken.md" in refused["error"]["message"]


async def test_skills_are_the_folders_once_a_person_accepted_them(served: Served) -> None:
    put(served, "skills/count-beans/SKILL.md", SKILL)
    assert await served.get("/skills") == {"skills": []}
    accept_all(served.testbed.settings.home, served.folder)
    [skill] = (await served.get("/skills"))["skills"]
    assert (skill["name"], skill["body"]) == ("count-beans", "Count twice.")


async def test_rules_are_listed_layer_by_layer(served: Served) -> None:
    put(served, "rules.toml", RULES)
    told = await served.get("/rules")
    assert [(layer["layer"], layer["is_there"]) for layer in told["layers"]] == [("user", False), ("project", True)]
    own = [rule for rule in told["rules"] if rule["layer"] == "project"]
    assert [(rule["says"], rule["actions"], rule["reason"]) for rule in own] == [
        ("deny", ["use-network"], "Not from here.")
    ]


async def test_why_something_would_be_asked_is_told_with_what_decides(served: Served) -> None:
    put(served, "rules.toml", RULES)
    where = f"{served.folder}/.cellwright/rules.toml:1"
    assert await why(served, action="use-network", host="data.example.org", port=443) == ("deny", where)
    assert await why(served, action="use-network", host="pypi.example", port=443) == ("ask", "default for use-network")
    assert await why(served, action="read-file", path="sales.csv") == ("allow", "default for read-file")
    assert (await why(served, action="read-file", path=".env"))[0] == "ask"
    said = await served.post("/rules/why", {"action": "install-package", "requirement": "polars"})
    assert said["describes"] == "Install the package polars"
    assert said["says"].startswith("No rule of yours speaks of it")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"action": "fly"}, 422),
        ({}, 422),
        ([], 422),
        ({"action": "use-network"}, 400),
        ({"action": "use-network", "host": 5, "port": "x"}, 400),
        ({"action": "read-file", "path": "x", "more": {"a": [1]}}, 400),
        ({"action": "spend", "price": {"amount": "NaN", "currency": "USD"}}, 400),
    ],
)
async def test_what_is_no_action_is_refused(served: Served, body: object, status: int) -> None:
    answer = await served.post("/rules/why", body, status=status)
    assert answer["error"]["message"]


@pytest.mark.parametrize("route", ["/rules/why", "/notebooks"])
async def test_half_a_character_is_refused(served: Served, route: str) -> None:
    body = b'{"action": "read-file", "path": "\\ud800.py"}' if route == "/rules/why" else b'{"path": "\\ud800.py"}'
    answer = await served.client.post(f"{API}{route}", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in {400, 422}, answer.text


@pytest.mark.slow
async def test_the_doctors_findings_are_told(served: Served) -> None:
    told = await served.get("/doctor")
    names = [finding["name"] for finding in told["findings"]]
    assert told["tier"] == probe().tier
    assert {"python", "marimo", "zygote", "disk", "models: anthropic"} <= set(names)
    [zygote] = [finding for finding in told["findings"] if finding["name"] == "zygote"]
    assert zygote["ok"]
    assert told["ok"] == (told["tier"] != "D")
    assert await served.get("/doctor") == told
