"""Connections, in a real browser, lead to a real Postgres: added, mended, looked into, asked, written to, forgotten."""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from cellwright.data.connections import remove_connection
from cellwright.testing import CallTool
from tests.data.shop import READER_PASSWORD, WRITER_PASSWORD, Shop, name_connection, new_shop, shop_server
from tests.runs.factory import apply, at_once, create, finish
from tests.web.a_control_room import ControlRoom, card, go, run_of, show, violations

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

CHANGE = "update public.customers set country = 'DE' where id in (1, 2) and country <> 'DE'"
LOOK = "select count(*) from public.customers where country = 'DE'"
ANSWER = (
    apply(
        create('import cellwright\n\nshop = cellwright.connection("shop")', "shop"),
        create(f'germans = shop.sql("""{LOOK}""").column(0)[0].as_py()\ngermans', "germans"),
        create("def test_germans():\n    assert germans > 0", "check_germans"),
    ),
    finish("There are {germans} of them."),
)


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with shop_server() as address:
        yield address


@pytest.fixture
def shop(server: str, room: ControlRoom) -> Generator[Shop]:
    """A database to which no connection leads yet."""
    with new_shop(server) as shop:
        yield shop
        remove_connection(room.home, "shop")


async def fill(page: Page, shop: Shop, secret: str) -> None:
    """The form, as somebody types it."""
    await page.get_by_label("Name in notebooks").fill("shop")
    await page.get_by_label("Kind").select_option(label="PostgreSQL")
    await page.get_by_label("Host").fill(shop.host)
    await page.get_by_label("Database").fill(shop.database)
    await page.get_by_role("textbox", name="User", exact=True).fill("reader")
    await page.get_by_label("TLS").select_option("off")
    await page.get_by_label("Password").fill(secret)


def statements(page: Page) -> Locator:
    return page.get_by_role("list", name="Statements").get_by_role("listitem")


async def forget(page: Page) -> None:
    await page.get_by_role("button", name="Forget", exact=True).click()
    await page.get_by_role("dialog", name="Forget shop?").get_by_role("button", name="Forget it").click()
    await expect(page.get_by_text("No connections yet")).to_be_visible()


async def test_a_wrong_password_is_said_and_mended_and_what_is_in_the_database_is_seen(
    room: ControlRoom, chromium: Browser, shop: Shop
) -> None:
    found: dict[str, list[str]] = {}
    async with room.person(chromium) as page:
        await page.keyboard.press("Escape")
        await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Connections").click()
        await expect(page.get_by_text("A connection is a database, a bucket, a file server or an API")).to_be_visible()
        found["none"] = await violations(page)
        await page.get_by_role("main").get_by_role("link", name="Add").click()
        await fill(page, shop, "not-the-password-at-all")
        await page.get_by_role("button", name="Save and test").click()

        wrong = page.get_by_role("alert").filter(has_text="saved")
        await expect(wrong).to_contain_text(re.compile("password", re.IGNORECASE))
        await expect(wrong).not_to_contain_text("not-the-password")
        await expect(page.get_by_label("Password")).to_have_value("")
        found["wrong"] = await violations(page)
        await page.get_by_label("Password").fill(READER_PASSWORD)
        await page.get_by_label("Masked columns").fill("customers.email")
        await page.get_by_role("button", name="Save and test").click()
        await expect(page.get_by_text("It works.")).to_be_visible()
        await expect(page.get_by_label("Password")).to_have_value("")
        found["right"] = await violations(page)
        await page.get_by_role("link", name="Look at its tables").click()

        tables = page.get_by_role("region", name="Tables", exact=True)
        await expect(tables.get_by_role("link")).to_have_count(2)
        await page.keyboard.press("/")
        await page.keyboard.type("plac")
        await expect(tables.get_by_role("link")).to_have_count(1)
        await tables.get_by_role("link", name="public.orders").click()
        columns = page.get_by_role("table", name="Columns of public.orders")
        await expect(columns.get_by_role("row", name=re.compile("^id"))).to_contain_text("key")
        await expect(page.get_by_text("What was bought")).to_be_visible()
        found["table"] = await violations(page)
        await page.get_by_role("region", name="Joins").get_by_role("link", name="public.customers").click()
        columns = page.get_by_role("table", name="Columns of public.customers")
        await expect(columns.get_by_role("row", name=re.compile("^email"))).to_contain_text("masked")
        await page.get_by_role("button", name="Show them").click()
        rows = page.get_by_role("table", name="First rows of public.customers")
        await expect(rows.get_by_role("row")).to_have_count(21)
        await expect(rows).to_contain_text("name 1")
        await expect(rows).not_to_contain_text("example.org")
        found["rows"] = await violations(page)
        await page.get_by_role("button", name="Profile it").click()
        profile = page.get_by_role("region", name="Profile of public.customers", exact=True)
        await expect(profile).to_contain_text("30 rows, 3 columns")
        await expect(profile.get_by_role("row", name=re.compile("^country"))).to_contain_text("DE")
        await expect(profile).not_to_contain_text("example.org")
        await expect(page.get_by_role("button", name="Profile again")).to_be_visible()
        found["profile"] = await violations(page)

        await page.get_by_role("tab", name="Statements").click()
        await expect(statements(page)).to_have_count(2)
        first_rows = statements(page).nth(1)
        await expect(first_rows).to_contain_text("20 rows")
        await first_rows.locator("summary").click()
        await expect(first_rows).to_contain_text("public.customers")
        found["statements"] = await violations(page)
        assert READER_PASSWORD not in await page.content()
        await go(page, "/connections")
        await expect(page.get_by_role("main").get_by_role("link", name="shop")).to_contain_text("2 statements")
        found["list"] = await violations(page)
        await page.get_by_role("main").get_by_role("link", name="shop").click()
        await forget(page)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


async def test_an_agent_asks_a_database_and_changes_it_once_after_a_person_said_yes(
    room: ControlRoom, chromium: Browser, shop: Shop
) -> None:
    [(before,)] = shop.owned(LOOK)
    room.provider.script(CallTool("write", {"connection": "shop", "sql": CHANGE}), at_once(*ANSWER))
    async with room.person(chromium) as page:
        await go(page, "/connections/-add")
        await fill(page, shop, READER_PASSWORD)
        await page.get_by_text("Let agents ask to change data").click()
        await page.get_by_label("User for changes").fill("writer")
        await page.get_by_label("Secret of that user").fill(WRITER_PASSWORD)
        await page.get_by_role("button", name="Save and test").click()
        await expect(page.get_by_text("It works.")).to_be_visible()

        await go(page, "/")
        await page.get_by_label("Goal").fill("Bring customers 1 and 2 to Germany, and count the Germans.")
        await page.get_by_role("group", name="Connections it may read").get_by_label("shop").check()
        await page.get_by_label("Model").select_option("near:one")
        await page.get_by_label("Effort").select_option("quick")
        await page.get_by_role("button", name="Start").click()

        await expect(card(page)).to_contain_text("Change data through the connection shop")
        await expect(card(page).get_by_role("strong")).to_have_text(re.compile(r"^Changes \d rows of public.customers"))
        await expect(card(page).locator("pre").first).to_contain_text("update public.customers")
        lines = (await card(page).locator("pre").first.inner_text()).split("\n")
        assert [line.strip().split(" ")[0] for line in lines if line.strip()] == ["update", "set", "where", "and"]
        choices = card(page).locator("[data-choices]").get_by_role("button")
        await expect(choices).to_have_text([re.compile("Yes, once"), re.compile("^No")])
        assert await violations(page) == []
        assert shop.owned(LOOK) == [(before,)]
        run = run_of(page)
        await card(page).get_by_role("button", name="Yes, once").click()
        await card(page).get_by_role("button", name="Confirm").click()
        delivered = await room.until_delivered(run)
        [(after,)] = shop.owned(LOOK)
        assert after > before
        assert delivered["delivery"]["answer"] == f"There are {after} of them."

        await show(page, "Result")
        await page.get_by_text("What it asked of connections").click()
        written = statements(page).filter(has_text="change")
        await expect(written).to_have_count(1)
        await expect(written).to_contain_text(f"{after - before} row")
        await go(page, "/connections/shop/statements")
        written = statements(page).filter(has_text="change")
        await written.locator("summary").click()
        await expect(written.get_by_role("link", name=run)).to_be_visible()
        await forget(page)


async def test_on_a_phone_nothing_runs_off_the_page(room: ControlRoom, chromium: Browser, shop: Shop) -> None:
    name_connection(room.home, shop.connection())
    wide: dict[str, int] = {}
    async with room.person(chromium, width=390, height=844) as page:
        for place, seen in {
            "/connections": "Leads to",
            "/connections/-add": "Where it leads",
            "/connections/shop": "public.orders",
            "/connections/shop/tables/public.orders": "What was bought",
            "/connections/shop/statements": "Statements lately",
            "/connections/shop/change": "Change shop",
        }.items():
            await go(page, place)
            await expect(page.get_by_role("main").get_by_text(seen).first).to_be_attached()
            await expect(page.get_by_role("main").locator("[class*=spinner]")).to_have_count(0)
            wide[place] = await page.evaluate("document.documentElement.scrollWidth")
        await go(page, "/connections/shop/tables/public.orders")
        await page.get_by_role("link", name="All tables").click()
        await expect(page.get_by_role("link", name="public.customers")).to_be_visible()
        await forget(page)
    assert {place: width for place, width in wide.items() if width > 390} == {}
