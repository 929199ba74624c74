"""Settings, in a real browser, have real effect: keys, lasting yeses, tokens, and why something would be asked."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import anyio
import httpx
import pytest
from playwright.async_api import Browser, Page, Response, expect

from cellwright.testing import CallTool, Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import SECONDS, ControlRoom, answer, card, go, open_control_room, see_run, show

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

KEYED = """
[endpoints.keyed]
kind = "openai-chat"
base_url = "{chat}"
key = "required"
local = false
[models."keyed:two"]
input_price_per_million = "1 USD"
output_price_per_million = "2 USD"
"""
"""The same provider, for whoever brings a key."""
KEY = "sk-live-4f81c2d09ab7e6553310"
RULES = """
[[rule]]
action = "use-network"
then = "deny"
hosts = ["evil.example.org"]
reason = "They sell what they hear."
"""
CREATED = apply(create("total = 40 + 2\ntotal", "total"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[ControlRoom]:
    with open_control_room(tmp_path_factory.mktemp("settings"), models=KEYED) as room:
        (room.home / "rules.toml").write_text(RULES)
        yield room


def read_page(host: str) -> CallTool:
    return CallTool("read_web_page", {"url": f"http://{host}/"})


# ── keys ──


def holding(folder: Path, secret: str) -> list[str]:
    """The files that have it."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.name for path in files if secret.encode() in path.read_bytes())


def watched(page: Page) -> list[Response]:
    """What the page is answered from now on."""
    responses: list[Response] = []

    def keep(response: Response) -> None:
        responses.append(response)

    page.on("response", keep)
    return responses


async def told(responses: list[Response]) -> str:
    """Everything the API has answered the page, its streams aside."""
    kept = [each for each in responses if "json" in each.headers.get("content-type", "")]
    return "\n".join([await each.text() for each in kept])


async def in_page(page: Page) -> str:
    """Everything the document holds, what was typed into it included."""
    typed = "() => [...document.querySelectorAll('input, textarea')].map(each => each.value).join(' ')"
    stored = "() => JSON.stringify({ ...localStorage, ...sessionStorage })"
    return await page.content() + await page.evaluate(typed) + await page.evaluate(stored)


async def test_a_key_is_kept_used_never_shown_again_and_forgotten(room: ControlRoom, chromium: Browser) -> None:
    async with room.person(chromium) as page:
        responses = watched(page)
        await go(page, "/settings/models")
        row = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="key of keyed"))
        await expect(row).to_contain_text("no key")
        await page.get_by_role("button", name="Set key of keyed").click()
        await page.get_by_label("API key of keyed").fill(KEY)
        await page.get_by_role("button", name="Keep it").click()
        await expect(row).to_contain_text("a key is set, kept in the")
        room.provider.script(plan(task()), CREATED, finish("It is 42."))
        run = await room.start(notebook="keyed.py", models=["keyed:two"])
        await room.until_delivered(run)
        assert {request.credential for request in room.provider.requests} == {KEY}
        assert KEY not in await in_page(page)
        answered = await told(responses)
        # A browser keeps no answers beyond the page they came to.
        responses.clear()
        await page.reload()
        await expect(row).to_contain_text("a key is set, kept in the")
        assert KEY not in await in_page(page)
        await page.get_by_role("button", name="Remove the key of keyed").click()
        await expect(row).to_contain_text("no key")
        assert holding(room.home, KEY) == []
        answered += await told(responses)
    assert answered.count('"keyed:two"') >= 2
    assert KEY not in answered
    asked = len(room.provider.requests)
    without = await room.start(notebook="keyless.py", models=["keyed:two"])
    failed = await room.until(without, lambda seen: seen["delivery"] is not None)
    assert failed["delivery"]["status"] == "failed"
    assert len(room.provider.requests) == asked


# ── lasting yeses ──


async def test_a_yes_that_is_taken_back_in_the_settings_is_asked_for_again(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(
        plan(task()),
        read_page("data.example.org"),
        read_page("data.example.org"),
        Fault("slow-first-byte", answer=read_page("data.example.org")),
        finish("It is 42."),
    )
    run = await room.start(notebook="asked-again.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(card(page)).to_contain_text("data.example.org")
        await answer(page, "Always")
        # The second time nobody was asked.
        await room.until_silent()
        assert [each["covers"] for each in (await room.get("grants"))["grants"]]
        await go(page, "/settings/approvals")
        await page.get_by_role("button", name="Take back").click()
        await expect(page.get_by_text("Nothing is approved in advance")).to_be_visible()
        room.provider.release()
        await see_run(page, run)
        await expect(card(page)).to_contain_text("data.example.org")
        await answer(page, "No", words="Not any more.")
        await room.until_delivered(run)
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()
    asked = [each for each in (await room.get(f"runs/{run}/timeline"))["events"] if each["kind"] == "question-asked"]
    assert len(asked) == 2


# ── tokens ──


async def follow(room: ControlRoom, client: httpx.AsyncClient, begun: anyio.Event) -> None:
    """The testbed's news, until the server ends them."""
    async with client.stream("GET", f"{room.origin}/api/v1/events") as stream:
        assert stream.status_code == 200
        async for _ in stream.aiter_bytes():
            begun.set()


async def test_a_token_is_made_shown_once_and_refused_at_once_when_it_is_revoked(
    room: ControlRoom, chromium: Browser
) -> None:
    async with room.person(chromium) as page:
        await go(page, "/settings/tokens")
        await page.get_by_label("What it is for").fill("nightly report")
        await page.get_by_label("It may").select_option("steer")
        await page.get_by_role("button", name="Make it").click()
        shown = page.get_by_role("dialog", name="Copy it now")
        secret = (await shown.locator("code").first.inner_text()).strip()
        await shown.get_by_role("button", name="I have it").click()
        await expect(page.get_by_role("listitem").filter(has_text="nightly report")).to_contain_text("may steer")
        assert secret.startswith("cw_")
        assert secret not in await in_page(page)
        assert holding(room.home, secret) == []
        headers = {"authorization": f"Bearer {secret}"}
        begun = anyio.Event()
        async with (
            httpx.AsyncClient(headers=headers, timeout=SECONDS, trust_env=False) as client,
            anyio.create_task_group() as tasks,
        ):
            assert (await client.get(f"{room.origin}/api/v1/runs")).status_code == 200
            assert (await client.get(f"{room.origin}/api/v1/tokens")).status_code == 403
            tasks.start_soon(follow, room, client, begun)
            await begun.wait()
            await page.get_by_role("button", name="Revoke nightly report").click()
            await expect(page.get_by_text("nightly report can no longer come in.")).to_be_visible()
            assert (await client.get(f"{room.origin}/api/v1/runs")).status_code == 401
            # What it follows ends too, else this block would not.
        await expect(page.get_by_role("listitem").filter(has_text="nightly report")).to_have_count(0)
        await expect(page.get_by_role("listitem").filter(has_text="this tab")).to_have_count(1)


# ── why ──


async def test_why_something_would_be_asked_is_answered_as_an_agent_would_find_it(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(
        plan(task()), read_page("evil.example.org"), read_page("data.example.org"), finish("It is 42.")
    )
    async with room.person(chromium) as page:
        await go(page, "/settings/rules")
        wanted, verdict = (
            page.get_by_label("An agent wants to"),
            page.locator("[aria-live=polite]", has_text="decided by"),
        )
        await page.get_by_role("textbox", name="Host").fill("evil.example.org")
        await page.get_by_role("button", name="Judge it").click()
        await expect(verdict).to_contain_text("Never")
        await expect(verdict).to_contain_text("They sell what they hear.")
        await expect(verdict).to_contain_text("rules.toml:2")
        await page.get_by_role("textbox", name="Host").fill("data.example.org")
        await page.get_by_role("button", name="Judge it").click()
        await expect(verdict).to_contain_text("Asks you")
        await wanted.select_option("read-file")
        await page.get_by_role("textbox", name="File").fill("sums.py")
        await page.get_by_role("button", name="Judge it").click()
        await expect(verdict).to_contain_text("Allowed")
        run = await room.start(notebook="why.py")
        await see_run(page, run)
        await expect(card(page)).to_contain_text("data.example.org")
        assert len((await room.get("questions"))["questions"]) == 1
        assert "They sell what they hear." in str(room.provider.requests[-1].body["messages"])
        await answer(page, "No", words="")
        await room.until_delivered(run)
