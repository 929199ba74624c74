"""Branches of notebooks that hold what forks are known to break: the answers of a plain run, and the same parent."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest

from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.egress import AllowedHost, Egress
from cellwright.settings import Settings
from tests.conftest import notebook_source
from tests.kernel.hazard_cases import CASES, HEAVY, Case

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

HOST = "echo.example"
PATIENCE_SECONDS = 120
CELL_SECONDS = 60
BRANCHES = 2
REPEATS = 3
# Of each kind of thing one; all of them, twenty times over, are among the slow ones.
QUICK = (
    "numpy",
    "polars lazy",
    "duckdb in a file",
    "sqlite, a transaction open",
    "requests keep-alive",
    "a thread that holds a lock",
    "multiprocessing.Pool",
    "a file with an unflushed buffer",
    "a temporary file that the candidate closes",
    "shared memory",
    "a pipe",
    "an unfinished task",
    "seeds",
    "widgets and state",
    "a failing candidate",
)


# ── the parent ──


@contextmanager
def an_echo() -> Generator[int]:
    """A server that keeps connections open and answers with what it was asked, so that a mixed up answer shows."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.path)))
            self.end_headers()
            self.wfile.write(self.path.encode())

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients hang up here."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


async def _to_loopback(host: str) -> list[IPv4Address | IPv6Address]:
    return [ip_address("127.0.0.1")]


@dataclass
class Ground:
    """Opens parents for one case, each in a project of its own."""

    case: Case
    opened: Opener
    folder: Path
    port: int
    made: int = 0
    cells: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        address = (f"URL = 'http://{HOST}:{self.port}'",) if self.case.needs_network else ()
        self.cells = (*address, *self.case.cells)

    @asynccontextmanager
    async def parent(self) -> AsyncGenerator[OpenNotebook]:
        """A notebook that has used what the case is about."""
        self.made += 1
        path = self.folder / f"project{self.made}" / "notebook.py"
        path.parent.mkdir()
        path.write_text(_header(self.case.packages) + notebook_source(*self.cells, self.case.look))
        options: dict[str, Any] = {}
        if self.case.packages:
            # Wherever this machine gets its packages from.
            options["settings"] = replace(Settings.read(), home=self.folder / "home", cache=self.folder / "cache")
        if self.case.needs_network:
            allowed = AllowedHost(name=HOST, ports=(self.port,), has_private_addresses=True)
            options["egress"] = Egress(allowed=(allowed,), resolve=_to_loopback)
        async with self.opened(path=path, **options) as notebook:
            observation = await notebook.run("all", cell_seconds=CELL_SECONDS)
            assert observation.is_ok, observation
            yield notebook


def _header(packages: tuple[str, ...]) -> str:
    listed = "".join(f'#     "{package}",\n' for package in packages)
    return f"# /// script\n# dependencies = [\n{listed}# ]\n# ///\n\n" if packages else ""


@pytest.fixture
def ground(request: pytest.FixtureRequest, opened: Opener, tmp_path: Path) -> Iterator[Ground]:
    case = (CASES | HEAVY)[request.param]
    if not case.needs_network:
        yield Ground(case, opened, tmp_path, 0)
        return
    with an_echo() as port:
        yield Ground(case, opened, tmp_path, port)


# ── what is compared ──


def told(observation: Observation, case: Case) -> list[tuple[object, ...]]:
    """All that a cell's run says, without its id, its time and what differs between two runs anyway."""
    return [
        (
            cell.status,
            cell.error and (cell.error.type, _plain(cell.error.message), cell.error.line),
            _console(cell.console, case),
            cell.output and (cell.output.mimetype, _plain(cell.output.text)),
            {variable.name: (variable.kind, variable.type, _plain(variable.text)) for variable in cell.variables},
        )
        for cell in observation.cells
    ]


def _plain(text: str) -> str:
    # Addresses of objects, and names that tempfile draws.
    return re.sub(r"0x[0-9a-f]{6,}|/tmp/tmp\w{8}", "…", text)


def _console(text: str, case: Case) -> str:
    return "\n".join(re.findall(r"(?m)^[\d.]+ [\d.]+$", text)) if case.is_noisy else _plain(text)


async def state_of(notebook: OpenNotebook, case: Case) -> tuple[object, ...]:
    """What must not change: every variable, what the case's own look says, the project's changed files, the cells."""
    look = notebook.document.cells[-1].id
    looked = await notebook.run([look], cell_seconds=CELL_SECONDS)
    assert looked.is_ok, looked
    shown = {variable.name: (variable.type, _plain(variable.text)) for variable in await notebook.look()}
    files = {change.path: change for change in await notebook.changed_files()}
    return _console(looked.cells[0].console, case), shown, files, notebook.document


async def try_out(branch: Branch, code: str) -> Observation:
    return await branch.apply([CreateCell(code=code)], cell_seconds=CELL_SECONDS)


async def branches_hold(notebook: OpenNotebook, case: Case) -> list[Observation]:
    """Two branches at once try the candidate; the parent is what it was before, between and after."""
    before = await state_of(notebook, case)
    seen: list[Observation] = []

    async def in_one(number: int) -> None:
        async with notebook.branch() as branch:
            seen.append(await try_out(branch, case.candidate.replace("{me}", f"branch-{number}")))

    async with anyio.create_task_group() as tasks:
        for number in range(BRANCHES):
            tasks.start_soon(in_one, number)
    assert await state_of(notebook, case) == before
    for observation in seen:
        assert observation.method is not None
        assert observation.method.kind in case.ways, observation.method
        assert bool(observation.method.reasons) is (observation.method.kind != "fork")
    return seen


async def said(ground: Ground, *, repeats: int) -> tuple[list[object], object]:
    """What each branch said, and what a plain run of a notebook that never had a branch does."""
    case = ground.case
    code = case.candidate.replace("{me}", "parent")
    with anyio.fail_after(PATIENCE_SECONDS * repeats):
        async with ground.parent() as notebook:
            kernel = notebook.live.kernel
            seen: list[Observation] = []
            for _ in range(repeats):
                with anyio.fail_after(PATIENCE_SECONDS):
                    seen += await branches_hold(notebook, case)
            assert notebook.live.kernel is kernel
            after = told(await notebook.apply([CreateCell(code=code)], cell_seconds=CELL_SECONDS), case)
        async with ground.parent() as notebook:
            plain = told(await notebook.apply([CreateCell(code=code)], cell_seconds=CELL_SECONDS), case)
    assert after == plain
    return [told(observation, case) for observation in seen], plain


@pytest.mark.sampled(12)
@pytest.mark.parametrize("ground", QUICK, indirect=True)
async def test_two_branches_at_once_say_what_a_plain_run_says_and_leave_the_parent_alone(ground: Ground) -> None:
    branches, plain = await said(ground, repeats=1)
    assert branches == [plain] * BRANCHES


@pytest.mark.slow
@pytest.mark.sampled(len(CASES | HEAVY), often=10)
@pytest.mark.parametrize("ground", CASES | HEAVY, indirect=True)
async def test_the_same_holds_again_and_again(ground: Ground) -> None:
    branches, plain = await said(ground, repeats=REPEATS)
    assert branches == [plain] * BRANCHES * REPEATS
