"""What journeys through the control room share: one browser, and one served folder, per module."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

import pytest
from playwright.async_api import Browser

from tests.web.a_control_room import ControlRoom, open_chromium, open_control_room


@pytest.fixture(scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    async with open_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[ControlRoom]:
    with open_control_room(tmp_path_factory.mktemp("control-room")) as room:
        yield room


@pytest.fixture
async def room(served: ControlRoom) -> AsyncGenerator[ControlRoom]:
    """The module's, with nothing at work."""
    served.serve_again()
    yield served
    await served.settle()
