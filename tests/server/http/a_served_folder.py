"""A folder that is served: the whole application under a real server on loopback, with real kernels and a journal."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import keyring
from keyring.backends.fail import Keyring

from cellwright.app.live_notebooks import LiveNotebookLimits, LiveNotebooks, open_live_notebooks
from cellwright.journal.chain import read_key
from cellwright.kernel.pool import KernelPool
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.policy.masking.masker import Masker, Secret
from cellwright.server.daemon.web_server import serve_http
from cellwright.server.executor import RunExecutor
from cellwright.server.http.addresses import Addresses, WebOptions
from cellwright.server.http.application import web_application
from cellwright.server.http.auth.middleware import RequestLimits
from cellwright.server.http.auth.tokens import ActiveRequests, Scope, TokenStore
from cellwright.server.http.resources import ApiResources, EditorLinks
from cellwright.server.http.uvicorn_server import listen_at
from cellwright.server.mcp.door import open_mcp_door
from cellwright.settings import Settings
from tests.server.a_daemon import TinyRuns, tiny_opener

SECONDS = 240
API = "/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A folder, and somebody with a token at its door."""

    client: httpx.AsyncClient
    tokens: TokenStore
    testbed: ApiResources

    @property
    def folder(self) -> Path:
        return self.testbed.folder

    @property
    def opened(self) -> LiveNotebooks:
        assert self.testbed.opened is not None
        return self.testbed.opened

    def bearing(self, scope: Scope) -> dict[str, str]:
        """Headers with a fresh token of this scope."""
        created = self.tokens.create(name="test", person="ada", scope=scope, seconds=600)
        return {"authorization": f"Bearer {created.secret}"}

    async def ask(self, method: str, path: str, *, status: int = 200, **more: Any) -> Any:
        """The answer's JSON, whose status must be this."""
        answer = await self.client.request(method, f"{API}{path}", **more)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    async def get(self, path: str, **more: Any) -> Any:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: object = None, **more: Any) -> Any:
        return await self.ask("POST", path, json=body, **more)

    async def clear(self) -> None:
        """As at first: no notebook is open, and nothing lies in the folder."""
        await self.opened.close_all()
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def plain_client(origin: str) -> httpx.AsyncClient:
    """Somebody on this machine, without a token."""
    # Without TLS nobody's certificate is checked, and reading those of all authorities takes longer than most tests.
    return httpx.AsyncClient(base_url=origin, timeout=SECONDS, trust_env=False, verify=False)


def ready_settings(folder: Path, template: Path | None) -> Settings:
    """A state directory in this folder, with a copy of this journal."""
    settings = Settings(home=folder / "home", cache=folder / "cache")
    read_key(settings.ready_home() / "journal.key")
    if template is not None:
        shutil.copyfile(template, settings.home / "journal.db")
    return settings


RunsTestbed = tuple[Settings, TinyRuns]


@asynccontextmanager
async def tiny_runs(tmp_path: Path, template: Path | None = None) -> AsyncGenerator[RunsTestbed]:
    """A real journal with runs that do next to nothing; `template` is one that has its tables already."""
    settings = ready_settings(tmp_path, template)
    async with tiny_opener(tmp_path)(settings) as runs:
        assert isinstance(runs, TinyRuns)
        yield settings, runs


@asynccontextmanager
async def serve(
    folder: Path,
    settings: Settings,
    live: RunExecutor,
    *,
    pool: KernelPool | None = None,
    lasting: LiveNotebookLimits | None = None,
    launch: GatewayLaunch | None = None,
    editor: EditorLinks | None = None,
    limits: RequestLimits | None = None,
    known_secrets: tuple[Secret, ...] = (),
) -> AsyncGenerator[Served]:
    """Serve this folder; the client bears an administrator's token."""
    await anyio.Path(folder).mkdir(parents=True, exist_ok=True)
    settings.ready_home()
    presence, tokens = ActiveRequests(), TokenStore(settings.home)
    async with AsyncExitStack() as stack:
        opening = open_live_notebooks(settings, of_runs=lambda: live.notebooks, pool=pool, limits=lasting)
        testbed = ApiResources(
            live=live,
            settings=settings,
            masker=Masker.of(known_secrets, salt=secrets.token_bytes(16)),
            folder=folder,
            opened=(opened := await stack.enter_async_context(opening)),
            launch=launch,
            editor=editor,
            editor_problem="" if editor else "another marimo is installed",
        )
        stack.enter_context(live.yielding_to(opened.release))
        listener = stack.enter_context(listen_at("127.0.0.1", 0))
        addresses = Addresses.of(WebOptions(folder=str(folder)), listener.getsockname()[1])
        mcp = await stack.enter_async_context(open_mcp_door(testbed, addresses.origin, "1.0"))
        app = web_application(testbed, tokens, addresses, presence=presence, limits=limits, mcp=mcp)
        await stack.enter_async_context(serve_http(app, listener, presence))
        client = plain_client(addresses.origin)
        served = Served(client=await stack.enter_async_context(client), tokens=tokens, testbed=testbed)
        client.headers.update(served.bearing("admin"))
        yield served


@contextmanager
def no_keyring() -> Generator[None]:
    """As on a machine without one."""
    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    try:
        yield
    finally:
        keyring.set_keyring(before)
