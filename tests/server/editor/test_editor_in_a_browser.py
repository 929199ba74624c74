"""marimo's real frontend in a real Chromium. One browser serves the whole file."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

import anyio
import anyio.lowlevel
import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, Response, Route, async_playwright, expect

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.data.broker_client import BrokerClient
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell, EditCell
from cellwright.sandbox.host.tiers import probe
from cellwright.server.editor import Editor, open_editor
from tests.data.shop import broker_client, name_connection, new_shop, sent_since, shop_server

pytestmark = pytest.mark.slow
Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
MILLISECONDS = 60_000
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", headless=True, args=_FLAGS)
        yield browser
        await browser.close()


@asynccontextmanager
async def a_person(browser: Browser, address: str = "") -> AsyncGenerator[Page]:
    """A page of a browser nobody else uses; with an address, when the editor there is ready to be typed into."""
    context = await browser.new_context()
    page = await context.new_page()
    page.set_default_timeout(MILLISECONDS)
    try:
        if address:
            await page.goto(address)
            await expect(page.locator(".cm-content").first).to_be_visible(timeout=MILLISECONDS)
            await expect(page.get_by_text("Connecting")).to_have_count(0, timeout=MILLISECONDS)
        yield page
    finally:
        await context.close()


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(120):
        while not is_so():
            await anyio.lowlevel.checkpoint()


async def type_into(page: Page, cell: int, text: str) -> None:
    await page.locator(".cm-content").nth(cell).click()
    await page.keyboard.press("End")
    await page.keyboard.type(text)


async def test_the_real_editor_shows_runs_and_follows_our_notebook(
    opened: Opener, editor: Editor, chromium: Browser
) -> None:
    complaints: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            complaints.append(message.text)

    async with opened("x = 1", "y = x + 20\ny") as notebook:
        await notebook.run("all")
        async with a_person(chromium) as page:
            page.on("console", listen)
            await page.goto(await editor.address(notebook, person="ana"))
            await expect(page.locator(".cm-content")).to_have_text(["x = 1", "y = x + 20y"], timeout=MILLISECONDS)
            await expect(page.get_by_text("21", exact=True)).to_be_visible(timeout=MILLISECONDS)
            assert "code=" not in page.url
            await type_into(page, 0, "00")
            await page.keyboard.press("Control+Enter")
            await expect(page.get_by_text("120", exact=True)).to_be_visible(timeout=MILLISECONDS)
            assert notebook.document.cells[0].code == "x = 100"
            assert {variable.text for variable in await notebook.look(["y"])} == {"120"}
            await until(lambda: "x = 100" in notebook.path.read_text())
            await notebook.apply([CreateCell(code="z = y + 1\nz")])
            await expect(page.locator(".cm-content")).to_have_count(3, timeout=MILLISECONDS)
            await expect(page.get_by_text("121", exact=True)).to_be_visible(timeout=MILLISECONDS)
            cell = notebook.document.cells[0]
            await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 7  # agent")])
            await expect(page.locator(".cm-content").first).to_have_text("x = 7  # agent", timeout=MILLISECONDS)
            await expect(page.get_by_text("28", exact=True)).to_be_visible(timeout=MILLISECONDS)
            await page.reload()
            await expect(page.locator(".cm-content").first).to_have_text("x = 7  # agent", timeout=MILLISECONDS)
            await expect(page.get_by_text("28", exact=True)).to_be_visible(timeout=MILLISECONDS)
    assert complaints == []


async def test_a_text_that_arrives_after_an_agents_edit_was_shown_is_shown_again_where_it_was_typed(
    opened: Opener, editor: Editor, chromium: Browser
) -> None:
    async with (
        opened("x = 1") as notebook,
        a_person(chromium, await editor.address(notebook, person="ana")) as page,
    ):
        go_on, is_under_way = anyio.Event(), anyio.Event()

        async def hold(route: Route) -> None:
            is_under_way.set()
            await go_on.wait()
            await route.continue_()

        await page.route("**/api/document/transaction", hold)
        await page.route("**/api/kernel/save", hold)
        cell = notebook.document.cells[0]
        await type_into(page, 0, "0  # by hand")
        with anyio.fail_after(120):
            await is_under_way.wait()
        await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 5  # agent")])
        # Nothing is held back for longer than typing takes.
        await expect(page.locator(".cm-content").first).to_have_text("x = 5  # agent")
        go_on.set()
        await until(lambda: notebook.document.cells[0].code == "x = 10  # by hand")
        await expect(page.locator(".cm-content").first).to_have_text("x = 10  # by hand")


async def test_an_agents_edit_is_not_put_over_what_a_person_is_typing(
    opened: Opener, editor: Editor, chromium: Browser
) -> None:
    """The text is on its way when the agent edits: held up here, it takes as long as it likes."""
    async with (
        opened("x = 1") as notebook,
        a_person(chromium, await editor.address(notebook, person="ana")) as page,
    ):
        go_on, is_pinged = anyio.Event(), anyio.Event()

        async def hold(route: Route) -> None:
            await go_on.wait()
            await route.continue_()

        page.on("response", lambda answer: is_pinged.set() if answer.url.endswith("/typing") else None)
        await page.route("**/api/document/transaction", hold)
        await page.route("**/api/kernel/save", hold)
        cell = notebook.document.cells[0]
        await type_into(page, 0, "0  # by hand")
        with anyio.fail_after(120):
            await is_pinged.wait()
        assert (await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 5  # agent")])).is_ok
        go_on.set()
        await until(lambda: notebook.document.cells[0].code == "x = 10  # by hand")
        await expect(page.locator(".cm-content").first).to_have_text("x = 10  # by hand")
        told = await notebook.apply(
            [EditCell(cell=cell.id, base_version=cell.version + 1, code="x = 6  # agent again")]
        )
        assert told.refused is not None
        assert told.refused.current is not None
        assert told.refused.current.code == "x = 10  # by hand"


async def test_a_second_browser_reads_along_and_can_take_over(
    opened: Opener, editor: Editor, chromium: Browser
) -> None:
    async with (
        opened("x = 1") as notebook,
        a_person(chromium, await editor.address(notebook, person="ana")) as ana,
        a_person(chromium, await editor.address(notebook, person="ben")) as ben,
    ):
        await type_into(ana, 0, "0")
        await expect(ben.locator(".cm-content").first).to_have_text("x = 10", timeout=MILLISECONDS)
        await ben.get_by_role("button", name="Take over").click()
        await expect(ana.get_by_role("button", name="Take over")).to_be_visible(timeout=MILLISECONDS)
        await type_into(ben, 0, "5")
        await expect(ana.locator(".cm-content").first).to_have_text("x = 105", timeout=MILLISECONDS)
        await until(lambda: notebook.document.cells[0].code == "x = 105")


class _OurPage(BaseHTTPRequestHandler):
    """Cellwright's page, with the editor in a frame as it puts it there."""

    def do_GET(self) -> None:
        sandbox = "allow-scripts allow-same-origin allow-forms allow-popups allow-downloads allow-modals"
        frame = f"<title>ours</title><iframe name=editor sandbox='{sandbox}' src='{unquote(self.path[2:])}'></iframe>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(frame.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Quietly."""


@pytest.fixture
def our_page() -> Generator[str]:
    """The origin of a page that frames the address it is given behind `?`; a port of its own, so another origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _OurPage) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_in_our_pages_frame_the_editor_works_and_what_runs_there_cannot_reach_the_page(
    opened: Opener, our_page: str, chromium: Browser
) -> None:
    async with (
        opened("x = 1") as notebook,
        open_editor(page_origins=[our_page]) as editor,
        a_person(chromium) as page,
    ):
        await page.goto(f"{our_page}/?{quote(await editor.address(notebook, person='ana'))}")
        cells = page.frame_locator("iframe").locator(".cm-content")
        await expect(cells).to_have_text(["x = 1"], timeout=MILLISECONDS)
        frame = page.frame(name="editor")
        assert frame is not None
        reached = await frame.evaluate(
            "() => { try { parent.document.title = 'pwned'; return 'reached' } catch (error) { return error.name } }"
        )
        assert reached == "SecurityError"
        assert await frame.evaluate("() => document.cookie") == ""
        outside = f"() => fetch('{our_page}/?stolen', {{mode: 'no-cors'}}).then(() => 'sent', () => 'blocked')"
        assert await frame.evaluate(outside) == "blocked"
        assert await page.title() == "ours"


async def test_no_other_page_can_frame_the_editor(
    opened: Opener, editor: Editor, our_page: str, chromium: Browser
) -> None:
    async with opened("x = 1") as notebook, a_person(chromium) as page:
        address = await editor.address(notebook, person="ana")
        async with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
            await page.goto(f"{our_page}/?{quote(address)}")
        assert editor.people(notebook) == 0


PANELS = {
    ("files", "errors"): "files/roots",
    ("packages", "secrets"): "packages/tree",
    ("outline", "secrets"): "secrets/keys",
    ("dependencies", "snippets"): "documentation/snippets",
    ("variables", "scratchpad"): "usage",
}
"""A panel of the sidebar with one of those below the notebook, and what one of them asks for."""
REMEMBER_PANELS = """
const [selectedPanel, selectedDeveloperPanelTab] = (sessionStorage.getItem("panels") ?? "variables errors").split(" ");
const open = { isSidebarOpen: true, isDeveloperPanelOpen: true };
localStorage.setItem("marimo:sidebar", JSON.stringify({ selectedPanel, selectedDeveloperPanelTab, ...open }));
"""


async def test_the_real_editor_asks_for_nothing_that_is_not_there(
    opened: Opener, editor: Editor, chromium: Browser
) -> None:
    """Also its panels, of which some show the host's files, packages and secrets in marimo's own server."""
    complaints: list[str] = []

    def hear(said: ConsoleMessage) -> None:
        if said.type == "error":
            complaints.append(said.text)

    def see(answer: Response) -> None:
        if answer.status >= 400:
            complaints.append(f"{answer.status} {answer.request.method} {answer.url}")

    async with opened("x = 1", "y = x + 20\ny") as notebook:
        await notebook.run("all")
        async with a_person(chromium) as page:
            page.on("console", hear)
            page.on("response", see)
            page.on("pageerror", lambda problem: complaints.append(str(problem)))
            await page.add_init_script(REMEMBER_PANELS)
            await page.goto(await editor.address(notebook, person="ana"))
            for chosen, route in PANELS.items():
                await page.evaluate("chosen => sessionStorage.setItem('panels', chosen)", " ".join(chosen))
                async with page.expect_response(f"**/api/{route}", timeout=3 * MILLISECONDS):
                    await page.reload()
                await expect(page.locator("pre", has_text="21")).to_be_visible(timeout=MILLISECONDS)
    assert complaints == []


@pytest.fixture
def shop_broker(tmp_path: Path) -> Generator[BrokerClient]:
    with shop_server() as server, new_shop(server) as shop, broker_client(tmp_path / "home") as client:
        name_connection(client.launch.home, shop.connection())
        yield client


async def test_a_connection_shows_its_tables_and_completes_their_columns_in_a_sql_cell(
    pool: KernelPool,
    write_notebook: Callable[..., Path],
    editor: Editor,
    chromium: Browser,
    shop_broker: BrokerClient,
) -> None:
    path = write_notebook(
        "import cellwright_cells as cellwright\nimport marimo as mo\nshop = cellwright.connection('shop')",
        '_df = mo.sql(\n    f"""\n    select id from public.orders\n    """,\n    engine=shop\n)',
    )
    asked = list[str]()
    connecting = open_notebook_connections(
        shop_broker, notebook=path, project=path.parent, may_query=lambda action: not asked.append(action.statement)
    )
    async with connecting as connections, a_person(chromium) as page:
        options = KernelOptions(project=path.parent, tier=probe().tier, host_services=connections.services)
        async with pool.open_notebook(path, options) as notebook:
            await notebook.run("all")
            await page.add_init_script(REMEMBER_PANELS)
            await page.goto(await editor.address(notebook, person="ana"))
            await expect(page.get_by_text("PostgreSQL (shop)")).to_be_visible(timeout=MILLISECONDS)
            for name in ("shop", "public", "orders"):
                await page.get_by_role("option", name=re.compile(f"^{name}")).click()
            await expect(page.get_by_role("option", name=re.compile("^placed_at"))).to_be_visible(timeout=MILLISECONDS)
            await expect(page.get_by_role("option", name=re.compile(r"^id\s*PK"))).to_be_visible(timeout=MILLISECONDS)
            await page.locator(".cm-content").nth(1).click()
            await page.keyboard.press("Control+End")
            await page.keyboard.type(" where pla")
            completed = page.locator(".cm-tooltip-autocomplete").get_by_text("column of orders")
            await expect(completed).to_be_visible(timeout=MILLISECONDS)
    # The statement and the tables, each once.
    assert [statement.strip() for statement in asked] == ["select id from public.orders", ""]
    assert [statement.strip() for statement in await sent_since(shop_broker)] == ["select id from public.orders"]
