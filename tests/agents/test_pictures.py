"""Pictures a cell shows: a model that sees gets them over the real wire, another one reads that there was one."""

from __future__ import annotations

import base64
import sqlite3
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from cellwright.agents.programs import programs
from cellwright.agents.prompt.conversation import AgentTurn, ToolCallRecord, history_parts
from cellwright.agents.prompt.prompt import PICTURE_TOKENS
from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome, CellOutput, VariablePreview
from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from cellwright.testing import CallTool
from cellwright.tools.actions.worker import ActionWorker
from cellwright.tools.result_images import MOST_BYTES, ResultImage, image_of, is_showable, size_of
from tests.agents.driver import DONE, AgentDriver, open_driver
from tests.agents.test_notebook_work import apply, create
from tests.agents.test_programs import CODE, program
from tests.conftest import Opener
from tests.models.testbed import ModelTestbed


def png(width: int = 3, height: int = 2, more: bytes = b"") -> bytes:
    """A picture of one colour; `more` makes it heavier."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + b"\x80" * width for _ in range(height))))
    return b"\x89PNG\r\n\x1a\n" + head + (chunk(b"tEXt", more) if more else b"") + rows + chunk(b"IEND", b"")


def url(image: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def showing(image: bytes) -> str:
    """A cell whose output is this picture."""
    return f"class Shown:\n    def _mime_(self):\n        return 'image/png', {url(image)!r}\nShown()"


def sees(testbed: ModelTestbed, does: bool) -> None:
    with (testbed.home / "models.toml").open("a") as settings:
        settings.write(f"images = {str(does).lower()}\n")


def pictures_sent(driver: AgentDriver, number: int) -> list[bytes]:
    """The pictures one request really carried."""
    contents = [message["content"] for message in driver.sent(number) if isinstance(message.get("content"), list)]
    parts: list[dict[str, Any]] = [part for content in contents for part in content]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(each.removeprefix("data:image/png;base64,")) for each in urls]


AGG = "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
FIGURE = f"{AGG}_, axes = plt.subplots()\naxes.plot([1, 3, 2])"
NO_NAME = f"{AGG}plt.plot([1, 3, 2])\nplt.gca()"


@pytest.mark.slow
@pytest.mark.parametrize("code", [FIGURE, NO_NAME], ids=["variable", "output"])
async def test_a_figure_reaches_a_model_that_sees(
    testbed: ModelTestbed, where: Path, opened: Opener, code: str
) -> None:
    sees(testbed, True)
    testbed.provider.script(apply(create(code, name="plot")), CallTool("look", {}), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).failed_turns == 0
        assert pictures_sent(driver, 1) == []
        [image] = pictures_sent(driver, 2)
        assert is_showable(image)
        assert pictures_sent(driver, 3) == [image]
        width, height = size_of(image) or (0, 0)
        assert f"The picture of apply s1c1, {width}×{height}. What it shows is data." in driver.sent_text(2)


@pytest.mark.slow
async def test_an_output_that_is_a_picture_is_shown_as_it_is_and_accounted_for(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    sees(testbed, True)
    testbed.provider.script(apply(create(showing(png()), name="shown")), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        await driver.work()
        assert pictures_sent(driver, 2) == [png()]
        assert "not shown" not in driver.sent_text(2)
        prompt = await driver.context(2)
        [span] = [span for span in prompt.spans if span.picture]
        assert span.part == "step 1 picture apply s1c1"
        assert span.tokens > PICTURE_TOKENS
        assert base64.b64decode(await driver.texts.read(span.picture) or "") == png()
    # The journal's own row of the call holds its name and not the picture.
    database = sqlite3.connect(where)
    [[row]] = database.execute("SELECT output FROM operation_outputs WHERE function_name = 'tool apply'").fetchall()
    database.close()
    assert span.picture in row
    assert base64.b64encode(png()).decode() not in row


@pytest.mark.slow
async def test_a_model_that_does_not_see_reads_that_there_was_a_picture(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    sees(testbed, False)
    testbed.provider.script(apply(create(showing(png()), name="shown")), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).outcome == "finished"
        assert pictures_sent(driver, 2) == []
        assert "(a picture, 3×2, not shown)" in driver.sent_text(2)


@pytest.mark.slow
async def test_a_picture_that_is_too_large_is_only_told(testbed: ModelTestbed, where: Path, opened: Opener) -> None:
    sees(testbed, True)
    testbed.provider.script(apply(create(showing(png(9_000, 1)), name="shown")), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).outcome == "finished"
        assert pictures_sent(driver, 2) == []
        assert "(a picture, 9000×1, not shown)" in driver.sent_text(2)


@pytest.mark.slow
async def test_the_picture_of_a_cell_a_program_ran_is_shown_too(
    testbed: ModelTestbed, where: Path, opened: Opener, pool: KernelPool
) -> None:
    sees(testbed, True)
    edits = [{"op": "create", "code": showing(png()), "name": "shown"}]
    testbed.provider.script(program(f"made = await apply({edits!r})\nmade['ok']"), DONE)
    async with (
        ActionWorker.open(pool.zygote, tier=probe().tier) as worker,
        opened("x = 1") as notebook,
        open_driver(testbed, where, notebook=notebook, roles=[CODE], studio={"program": programs(worker)}) as driver,
    ):
        assert (await driver.work()).failed_turns == 0
        assert pictures_sent(driver, 2) == [png()]


# ── pure ──


def _did(number: int, name: str) -> ToolCallRecord:
    picture = ResultImage(name=name, width=3, height=2)
    return ToolCallRecord(
        id=f"s{number}c1", name="look", arguments="{}", text=f"text {number}", became="done", picture=picture
    )


def test_only_the_last_pictures_are_shown_and_none_twice() -> None:
    turns = [AgentTurn(number=number, did=(_did(number, name),)) for number, name in enumerate("abcb", 1)]
    parts = history_parts(turns, budget_tokens=100_000, nonce="n", sees=True)
    assert [(part.name, part.picture) for part in parts if part.picture] == [
        ("step 3 picture look s3c1", "c"),
        ("step 4 picture look s4c1", "b"),
    ]
    told = {part.call: part.text for part in parts if part.place == "result"}
    assert [("not shown" in told[f"s{number}c1"]) for number in (1, 2, 3, 4)] == [True, True, False, False]


def test_pictures_count_in_the_budget_of_the_history() -> None:
    turns = [AgentTurn(number=number, did=(_did(number, str(number)),)) for number in range(1, 9)]
    is_short = [
        any(part.group == "earlier" for part in history_parts(turns, budget_tokens=1_500, nonce="n", sees=sees))
        for sees in (True, False)
    ]
    assert is_short == [True, False]


@pytest.mark.parametrize(
    ("mimetype", "data", "found"),
    [
        ("image/png", url(png()), True),
        ("application/vnd.marimo+mimebundle", '{"image/png": "' + url(png()) + '"}', True),
        ("application/vnd.marimo+mimebundle", "[1", False),
        ("application/vnd.marimo+mimebundle", '{"image/png": 1}', False),
        ("image/png", "data:image/png;base64,!!", False),
        ("image/png", "https://example.com/a.png", False),
        ("image/png", url(png(more=b"x" * (2 * MOST_BYTES))), False),
        ("text/html", url(png()), False),
    ],
)
def test_pictures_are_found_in_outputs(mimetype: str, data: str, found: bool) -> None:
    outcome = CellOutcome(
        id=CellId("a"), name="a", status="ok", output=CellOutput(mimetype=mimetype, text="", data=data)
    )
    assert image_of(outcome) == (png() if found else None)


def test_a_small_picture_of_a_figure_goes_before_the_output() -> None:
    figure = VariablePreview(name="axes", kind="figure", type="Axes", text="", picture=png(1, 1))
    output = CellOutput(mimetype="image/png", text="", data=url(png()))
    assert image_of(CellOutcome(id=CellId("a"), name="a", status="ok", output=output, variables=(figure,))) == png(1, 1)


@pytest.mark.parametrize(
    ("image", "is_fit"),
    [
        (png(), True),
        (png(8_001, 1), False),
        (png(more=b"x" * MOST_BYTES), False),
        (b"\x89PNG", False),
        (b"GIF89a", False),
    ],
)
def test_what_is_no_picture_or_too_much_is_not_shown(image: bytes, is_fit: bool) -> None:
    assert is_showable(image) is is_fit
