"""`python -m tests.web.screenshots`: every screen of the control room, light and dark, wide and narrow.

They show real runs: the analyst's on the bundled data, and one of a scripted model that is at work and waits for an
answer. The files go to `docs/images/control-room/`.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

import anyio
from playwright.async_api import Browser, Page, expect

from cellwright.testing import CallTool
from tests.runs.factory import apply, create, plan, task
from tests.web.a_control_room import (
    ControlRoom,
    card,
    editor,
    go,
    open_chromium,
    open_control_room,
    report,
    see_run,
    show,
)

ROOT: Final = Path(__file__).parents[2]
OUT: Final = ROOT / "docs/images/control-room"
DATA: Final = ("orders.csv", "customers.csv")
SIZES: Final = {"wide": (1280, 800), "narrow": (390, 844)}
MOST_BYTES: Final = 190_000
QUALITIES: Final = (80, 65, 50, 35)
GOAL: Final = "How heavy is each species, compared with the published means?"
WORK: Final = (
    plan(
        task("means", title="Mean mass per species", todo="Read penguins.csv; one mean per species."),
        task("published", title="Get the published means", todo="Read them from the web.", after=["means"]),
        task("compare", title="Compare the two", todo="One bar pair per species.", after=["published"]),
        title="Mass per species, ours and published",
    ),
    apply(
        create("import polars as pl\n\npenguins = pl.read_csv(penguins_csv)", "penguins"),
        create(
            'means = penguins.group_by("species").agg(pl.mean("body_mass_g").round())\nmeans',
            "means",
        ),
    ),
    CallTool(
        "read_web_page",
        {"url": "https://penguins.example.org/means"},
        text="The means per species are there. To compare them I need the published ones.",
    ),
)
SHOP: Final = """
    create table customers (id integer primary key, name text not null, email text, region text);
    create table orders (
        id integer primary key, customer_id integer not null references customers (id), placed_on text, amount real
    );
    with recursive counted(i) as (select 1 union all select i + 1 from counted where i < 40)
    insert into customers select i, 'Customer ' || i, i || '@example.org', iif(i % 3, 'North', 'South') from counted;
    with recursive counted(i) as (select 1 union all select i + 1 from counted where i < 400)
    insert into orders select i, i % 40 + 1, date('2025-01-01', i || ' days'), (i * 37 % 90) + 0.5 from counted;
    analyze;
"""
PAGES: Final = {
    "goal": "/",
    "runs": "/runs",
    "connections": "/connections",
    "connection": "/connections/shop/tables/main.orders",
    "connection-statements": "/connections/shop/statements",
    "connection-add": "/connections/-add",
    "dashboards": "/dashboards",
    "settings-models": "/settings/models",
    "settings-rules": "/settings/rules",
    "settings-approvals": "/settings/approvals",
    "settings-tokens": "/settings/tokens",
    "settings-machine": "/settings/machine",
    "welcome": "/welcome",
}


async def name_shop(room: ControlRoom) -> None:
    """A database, and somebody who looked into it."""
    path = room.folder.parent / "shop.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SHOP)
    async with room.api() as client:
        body = {"kind": "sqlite", "options": {"path": str(path)}, "masked": ["customers.email"]}
        (await client.put("connections/shop", json=body)).raise_for_status()
    for table in ("customers", "orders"):
        await room.get(f"connections/shop/rows?table={table}")


async def take(page: Page, name: str) -> None:
    """One picture, small enough to be kept."""
    await page.evaluate("document.fonts.ready")
    await expect(page.get_by_role("main").locator("[class*=spinner]")).to_have_count(0)
    for quality in QUALITIES:
        drawn = await page.screenshot(type="jpeg", quality=quality, animations="disabled")
        if len(drawn) <= MOST_BYTES:
            await anyio.Path(OUT / f"{name}.jpg").write_bytes(drawn)
            sys.stderr.write(f"{name}.jpg {len(drawn) // 1000} KB\n")
            return
    raise SystemExit(f"{name} cannot be made small enough.")


async def work(room: ControlRoom) -> tuple[str, str]:
    """The analyst's run, delivered; and one at work that asks."""
    (room.folder / "data").mkdir()
    for name in (*DATA, "penguins.csv"):
        shutil.copyfile(ROOT / "examples/data" / name, room.folder / "data" / name)
    question = {"goal": "Why did revenue fall in Q3 2025?", "data": [f"data/{name}" for name in DATA]}
    done = (await room.post("runs", question | {"models": ["analyst"]}))["run"]
    await room.until(done, lambda seen: seen["standing"] == "done")
    await name_shop(room)
    room.provider.script(*WORK)
    asks = await room.start(goal=GOAL, data=["data/penguins.csv"], budget_usd="2.00")
    await room.until(asks, lambda seen: seen["status"] == "waiting")
    return done, asks


async def picture_all(room: ControlRoom, browser: Browser, done: str, asks: str) -> None:
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            async with room.person(browser, width=width, height=height, theme=theme) as page:
                await picture(page, done, asks, f"{size}-{theme}", is_narrow=size == "narrow")


async def picture(page: Page, done: str, asks: str, suffix: str, *, is_narrow: bool) -> None:
    for name, place in PAGES.items():
        await go(page, place)
        if name in {"goal", "runs"}:
            await expect(page.get_by_role("link", name=GOAL)).to_be_visible()
        if name == "connection":
            await page.get_by_role("button", name="Show them").click()
            await expect(page.get_by_role("table", name="First rows of main.orders")).to_be_visible()
        await take(page, f"{name}-{suffix}")
    await see_run(page, asks)
    await expect(card(page)).to_be_visible()
    if not is_narrow:
        await expect(editor(page).locator(".cm-content").filter(has_text="group_by")).to_be_visible()
    await take(page, f"run-asks-{suffix}")
    for tab in ("Plan", "Changes"):
        await show(page, tab)
        await take(page, f"run-{tab.lower()}-{suffix}")
    if is_narrow:
        await show(page, "Notebook")
        await expect(editor(page).locator(".cm-content").filter(has_text="group_by")).to_be_visible()
        await take(page, f"run-notebook-{suffix}")
    await see_run(page, done)
    await expect(report(page).get_by_role("heading", level=1)).to_be_visible()
    if is_narrow:
        await take(page, f"run-report-{suffix}")
        await show(page, "Result")
    await expect(page.get_by_role("tabpanel").get_by_text("Proven.")).to_be_visible()
    await take(page, f"run-result-{suffix}")
    await show(page, "Notebook")
    await expect(page.get_by_role("region", name="Cells")).to_be_visible()
    await take(page, f"run-code-{suffix}")
    await go(page, f"/runs/{done}/detail")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await take(page, f"run-detail-{suffix}")


async def main() -> None:
    """All of them; what was there before is taken away."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder, open_control_room(Path(folder)) as room:
        done, asks = await work(room)
        async with open_chromium() as browser:
            await picture_all(room, browser, done, asks)


if __name__ == "__main__":
    anyio.run(main)
