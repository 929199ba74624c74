"""Buckets, file servers and APIs in a real browser: added, mended, looked into, read by a goal, and their record."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from cellwright.data.connections import DataConnection, connections_at, remove_connection, store_connection
from cellwright.secrets import keep_secret
from tests.app.web_services import API_SECRET, ApiServer, api_server
from tests.data.file_stores.servers import FILES, FileServer, s3_server, sftp_server, write_files
from tests.server.http.test_connection_contents_api import DOCUMENT
from tests.web.a_control_room import ControlRoom, go, violations

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""


@pytest.fixture(scope="module")
def drop(tmp_path_factory: pytest.TempPathFactory) -> Generator[FileServer]:
    with sftp_server(write_files(tmp_path_factory.mktemp("files"))) as server:
        yield server


@pytest.fixture(scope="module")
def lake() -> Generator[FileServer]:
    with s3_server(FILES) as server:
        yield server


@pytest.fixture(scope="module")
def crm(tmp_path_factory: pytest.TempPathFactory) -> Generator[ApiServer]:
    folder = tmp_path_factory.mktemp("api")
    (folder / "birds.json").write_text(json.dumps(DOCUMENT))
    with api_server(folder) as server:
        yield server


@pytest.fixture
def home(room: ControlRoom) -> Generator[Path]:
    yield room.home
    for name in connections_at(room.home):
        remove_connection(room.home, name)


def name_connection(home: Path, connection: DataConnection, secret: str) -> None:
    store_connection(home, connection)
    keep_secret(home, connection.secret_name, secret, "file")


async def save(page: Page) -> None:
    await page.get_by_role("button", name="Save and test").click()


async def test_a_file_server_is_added_by_its_host_key_and_its_files_are_looked_into(
    room: ControlRoom, chromium: Browser, drop: FileServer, home: Path
) -> None:
    found: dict[str, list[str]] = {}
    async with room.person(chromium, at="/connections/-add") as page:
        await page.get_by_label("Name in notebooks").fill("drop")
        await page.get_by_label("Kind").select_option(label="SFTP server")
        await page.get_by_label("Host", exact=True).fill(drop.options["host"])
        await page.get_by_label("Port").fill(drop.options["port"])
        await page.get_by_role("textbox", name="User", exact=True).fill("reader")
        await page.get_by_label("Folder optional").fill(drop.options["path"])
        await expect(page.get_by_label("Masked columns")).to_have_count(0)
        await expect(page.get_by_text("Let agents ask to change data")).to_have_count(0)
        await page.get_by_label("Password or private key").fill("not-the-secret")
        await save(page)
        wrong = page.get_by_role("alert").filter(has_text="saved")
        await expect(wrong).to_contain_text("SHA256:")
        found["unknown host key"] = await violations(page)
        await page.get_by_label("Host key").fill(drop.options["host_key"])
        await save(page)
        await expect(wrong).to_contain_text("does not accept this user")
        await page.get_by_label("Password or private key").fill(drop.secret)
        await save(page)
        await expect(page.get_by_text("It works.")).to_be_visible()
        await expect(page.get_by_text("2 files and folders at its top")).to_be_visible()
        await page.get_by_role("link", name="Look into it").click()

        files = page.get_by_role("region", name="Files", exact=True)
        await expect(files.get_by_role("listitem")).to_have_count(2)
        found["top"] = await violations(page)
        await files.get_by_role("link", name="sales").click()
        await expect(files.get_by_role("listitem")).to_have_count(3)
        await page.keyboard.press("/")
        await page.keyboard.type("-01")
        await expect(files.get_by_role("listitem")).to_have_count(1)
        await files.get_by_role("link", name="2024-01.csv").click()
        await expect(page.get_by_text("pandas.read_csv")).to_be_visible()
        await page.get_by_role("button", name="Look", exact=True).click()
        columns = page.get_by_role("table", name=re.compile("Profiled columns of .*2024-01.csv"))
        await expect(columns.get_by_role("row")).to_have_count(3)
        await expect(page.get_by_text("2 rows, 2 columns")).to_be_visible()
        found["profile"] = await violations(page)
        await page.get_by_role("navigation", name="Folder").get_by_role("link", name="drop").click()
        await expect(files.get_by_role("listitem")).to_have_count(2)

        await page.get_by_role("tab", name="Requests").click()
        record = page.get_by_role("list", name="Statements")
        await expect(record.get_by_text("Listed sales", exact=True)).to_be_visible()
        await expect(record.get_by_text(re.compile("^Read sales/2024-01.csv"))).to_be_visible()
        found["record"] = await violations(page)
        await go(page, "/connections")
        await expect(page.get_by_role("main").get_by_role("link", name="drop")).to_contain_text("request")
        assert drop.secret not in await page.content()
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


async def test_an_api_shows_what_it_can_be_asked_and_how_a_cell_asks_it(
    room: ControlRoom, chromium: Browser, crm: ApiServer, home: Path
) -> None:
    found: dict[str, list[str]] = {}
    async with room.person(chromium, at="/connections/-add") as page:
        await page.get_by_label("Name in notebooks").fill("crm")
        await page.get_by_label("Kind").select_option(label="HTTP API")
        await page.get_by_label("Address", exact=True).fill(crm.url("/v1"))
        await page.get_by_label("Key or token").fill("wrong")
        await page.get_by_label("File of the certificate authority").fill(str(crm.authority))
        await save(page)
        await expect(page.get_by_role("alert").filter(has_text="saved")).to_contain_text("answers 401")
        await page.get_by_label("Key or token").fill(API_SECRET)
        await save(page)
        await expect(page.get_by_text("It works.")).to_be_visible()
        await page.get_by_role("link", name="Look into it").click()
        await expect(page.get_by_text("GET, HEAD", exact=True)).to_be_visible()
        await expect(page.get_by_text("cellwright-secret:crm").first).to_be_visible()
        found["without a document"] = await violations(page)

        await page.get_by_role("button", name="Change").click()
        await page.get_by_label("Paths").fill("/birds")
        await page.get_by_label("OpenAPI document").fill(f"file:{crm.authority.parent / 'birds.json'}")
        await save(page)
        await page.get_by_role("link", name="Look into it").click()
        operations = page.get_by_role("region", name="Operations")
        await expect(operations.get_by_text("3 operations")).to_be_visible()
        await expect(operations.get_by_text("not allowed")).to_have_count(2)
        await operations.locator("summary").filter(has_text="All birds.").click()
        await expect(operations.get_by_role("table", name="Arguments of GET /v1/birds")).to_contain_text(
            "small | large"
        )
        await expect(operations.locator("pre")).to_contain_text(f'"{crm.url("/v1/birds")}"')
        found["with a document"] = await violations(page)
        await page.get_by_role("tab", name="Requests").click()
        await expect(page.get_by_text("Nothing was sent to it yet")).to_be_visible()
        assert API_SECRET not in await page.content()
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


async def test_data_behind_a_connection_is_picked_or_typed_and_a_wrong_word_is_told_before_the_run(
    room: ControlRoom, chromium: Browser, lake: FileServer, home: Path
) -> None:
    name_connection(home, lake.connection(), lake.secret)
    async with room.person(chromium) as page:
        await page.get_by_label("Goal").fill("Which month sold best?")
        typed = page.get_by_label("Data behind a connection")
        await typed.fill("lake:lake-bucket/sales/2031.csv")
        await typed.press("Enter")
        await expect(page.get_by_text("lake: There is no 'lake-bucket/sales/2031.csv'.")).to_be_visible()
        await page.get_by_label("Model").select_option("near:one")
        await page.get_by_role("button", name="Start").click()
        await expect(page.get_by_role("alert")).to_contain_text("There is no 'lake-bucket/sales/2031.csv'")
        await page.get_by_role("button", name="Remove lake:lake-bucket/sales/2031.csv").click()

        await page.get_by_role("button", name="From a connection…").click()
        picker = page.get_by_role("dialog")
        await picker.get_by_role("button", name="lake-bucket", exact=True).click()
        await picker.get_by_role("button", name="sales", exact=True).click()
        await picker.get_by_role("button", name=re.compile("2024-01.csv")).click()
        await picker.get_by_role("button", name="Done").click()
        await expect(page.get_by_text("lake:lake-bucket/sales/2024-01.csv", exact=True)).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Start").click()
        await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
        run = page.url.partition("#/runs/")[2].partition("/")[0]
        goal = (await room.get(f"runs/{run}"))["goal"]
        assert (goal["files"], goal["connections"]) == (["lake:lake-bucket/sales/2024-01.csv"], ["lake"])


async def test_on_a_phone_no_file_and_no_operation_runs_off_the_page(
    room: ControlRoom, chromium: Browser, drop: FileServer, crm: ApiServer, home: Path
) -> None:
    name_connection(home, drop.connection("drop"), drop.secret)
    document = {"openapi": f"file:{crm.authority.parent / 'birds.json'}"}
    name_connection(home, crm.connection(**document), API_SECRET)
    wide: dict[str, int] = {}
    async with room.person(chromium, width=390, height=844) as page:
        for place, seen in {
            "/": "What do you want to know?",
            "/connections": "drop",
            "/connections/drop": "readme.txt",
            "/connections/drop/folders/sales": "2024-01.csv",
            "/connections/drop/files/sales/2024-01.csv": "pandas.read_csv",
            "/connections/drop/statements": "Listed sales",
            "/connections/drop/change": "Change drop",
            "/connections/crm": "What is allowed",
        }.items():
            await go(page, place)
            await expect(page.get_by_role("main").get_by_text(seen).first).to_be_attached()
            await expect(page.get_by_role("main").locator("[class*=spinner]")).to_have_count(0)
            wide[place] = await page.evaluate("document.documentElement.scrollWidth")
    assert {place: width for place, width in wide.items() if width > 390} == {}
