"""A page that asks its own host alone; a marimo whose pages are not as expected is refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from cellwright.errors import Unavailable
from cellwright.runs.publish.page_seal import OFFLINE_RUNTIME, sealed_page, sealed_worker
from tests.runs.publish.mirrors import MARIMO, VERSION


def workers() -> dict[str, str]:
    found = importlib.util.find_spec("marimo")
    assert found is not None and found.origin is not None
    return {
        one.name: one.read_text("utf-8") for one in (Path(found.origin).parent / "_static/assets").glob("*worker*.js")
    }


def test_the_workers_of_the_pinned_marimo_can_be_pointed_to_a_mirror() -> None:
    found = workers()
    assert len(found) == 2
    for source in found.values():
        sealed = sealed_worker(source, version=VERSION)
        assert sealed.endswith(source) and "This page is offline" in sealed


def test_the_wheels_that_are_fetched_for_the_browsers_test_are_those_of_the_pinned_marimo() -> None:
    wheels = Path(__file__).with_name("browser_wheels.txt").read_text("utf-8")
    assert f"marimo-base=={MARIMO} " in wheels


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("pyodideLockfileUrl", "lockUrl"),
        ("`msgspec`", "`msgspec`,`new`"),
        (f"`{VERSION}`", "`999.0.0`"),
        ("`marimo-base`", "`m`"),
    ],
)
def test_workers_that_are_not_as_expected_are_refused(word: str, other: str) -> None:
    for source in workers().values():
        with pytest.raises(Unavailable, match="cannot be pointed to a mirror"):
            sealed_worker(source.replace(word, other), version=VERSION)


def test_a_page_has_its_policy_before_all_it_loads_and_one_that_loads_python_elsewhere_is_refused() -> None:
    attributes = " ".join(f'data-x="{one}"' for one in OFFLINE_RUNTIME.values())
    sealed = sealed_page(f'<head><link href="a.css"><marimo-wasm {attributes}></head>')
    assert sealed.startswith('<head><meta http-equiv="Content-Security-Policy" content="default-src \'self\' ')
    for page in ("<head></head>", f"<html {attributes}>"):
        with pytest.raises(Unavailable, match="cannot be pointed to a mirror"):
            sealed_page(page)
