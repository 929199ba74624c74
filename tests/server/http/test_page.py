"""The page's files: what is built is shown and kept, what is not is explained, nothing else is reachable."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from cellwright.server.http.page_build import is_built
from cellwright.server.http.problems import add_error_handlers
from cellwright.server.http.routes.page import page_routes


@pytest.fixture
def static(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "assets/index-Diy8hlzM.js").write_text("go()")
    (folder / "assets/plain.css").write_text("b {}")
    (folder / "assets/notes.exe").write_text("secret")
    (folder / ".hidden.js").write_text("secret")
    (tmp_path / "outside.js").write_text("secret")
    return folder


@pytest.fixture
async def client(static: Path) -> AsyncGenerator[httpx.AsyncClient]:
    app = FastAPI(redirect_slashes=False)
    app.include_router(page_routes(static))
    add_error_handlers(app, str)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page") as opened:
        yield opened


async def test_a_page_that_is_not_built_says_how_to_build_it(client: httpx.AsyncClient, static: Path) -> None:
    answer = await client.get("/")
    assert (answer.status_code, is_built(static)) == (503, False)
    assert "make page" in answer.text
    # No restart is needed.
    (static / "index.html").write_text("<!doctype html>")
    answer = await client.get("/")
    assert (answer.status_code, answer.headers["cache-control"], is_built(static)) == (200, "no-cache", True)


async def test_a_file_named_by_its_content_is_kept_and_others_are_looked_at_again(client: httpx.AsyncClient) -> None:
    hashed = await client.get("/assets/index-Diy8hlzM.js")
    assert (hashed.text, hashed.headers["content-type"]) == ("go()", "text/javascript; charset=utf-8")
    assert hashed.headers["cache-control"] == "public, max-age=31536000, immutable"
    plain = await client.get("/assets/plain.css")
    assert plain.headers["cache-control"] == "no-cache"
    again = await client.get("/assets/plain.css", headers={"if-none-match": plain.headers["etag"]})
    assert again.status_code in {200, 304}
    assert (await client.head("/assets/plain.css")).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/..%2Foutside.js", "/assets/..%2F..%2Foutside.js", "/%2e%2e/outside.js", "/.hidden.js", "/assets/notes.exe",
     "/assets", "/assets/", "/assets/x%00.js", "/%ff.js", "//etc/passwd", "/assets/%2Fetc%2Fpasswd", "/nowhere.js"],
)  # fmt: skip
async def test_nothing_but_the_pages_own_files_is_reachable(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert "secret" not in answer.text
