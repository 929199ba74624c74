"""What every test may use: one warm zygote for the whole session, and notebooks made on the spot."""

from __future__ import annotations

import ast
import gc
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
import sniffio

from tests.leaping import LEAPING

if TYPE_CHECKING:
    from cellwright.kernel.pool import KernelPool
    from cellwright.kernel.session.open_notebook import OpenNotebook
    from tests.agents.forked import Forker
    from tests.models.testbed import Warm


# How long an example takes says more about the machine than about the code. `make test-all` loads the thorough one;
# `--hypothesis-profile` is read after this file, so it wins.
UNHURRIED = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("every-day", UNHURRIED, max_examples=25)
hypothesis.settings.register_profile("thorough", UNHURRIED, max_examples=200)
hypothesis.settings.load_profile("every-day")


# What is imported from here on stays: looking through all of it again and again takes a quarter of the time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# Python has one node each for these, in all trees. `snapshot()` ties every node to the one above it: what copies a part
# of any tree, as marimo does for every function, would copy a whole test module with it.
SHARED_NODES = {
    node
    for node in ast.walk(
        ast.parse(
            "a = b; del a; a and b or c; ~a; not a; +a; -a; a + b - c * d @ e / f % g ** h << i >> j | k ^ l & m // n;"
            "a == b != c < d <= e > f >= g is h is not i in j not in k"
        )
    )
    if not node._attributes and not node._fields
}


def pytest_runtest_call() -> None:
    for node in SHARED_NODES:
        vars(node).clear()


def pytest_configure() -> None:
    """A shell that starts tests in its background has them ignore Ctrl-C, and whatever they start would, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    # One loop serves a worker as long as anything shared lives on it, so all tests have the one whose clock can leap.
    return LEAPING


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a function marked `sampled(step)` every so many-th case runs every time; the others are slow.

    With `sampled(step, often=n)` every n-th of all cases is slow, and the rest needs `make test-all CASES=every`.
    """
    places: Counter[str] = Counter()
    for item in items:
        if (mark := item.get_closest_marker("sampled")) is not None:
            function = item.nodeid.partition("[")[0]
            if places[function] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
                if places[function] % mark.kwargs.get("often", 1):
                    item.add_marker(pytest.mark.rare)
            places[function] += 1


@pytest.fixture(scope="session")
def forker() -> Generator[Forker]:
    """Workers to kill, forked from one process for the whole session that has imported everything."""
    from tests.agents.forked import forking

    with forking() as opened:
        yield opened


@contextmanager
def between_loops() -> Generator[None]:
    """Plain code may call `anyio.run` while the session's own loop waits: sniffio would say that one runs."""
    token = sniffio.current_async_library_cvar.set(None)
    try:
        yield
    finally:
        sniffio.current_async_library_cvar.reset(token)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    with between_loops():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    with between_loops():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    with between_loops():
        return (yield)


@pytest.fixture(scope="session")
async def pool(cache: Path) -> AsyncGenerator[KernelPool]:
    from cellwright.kernel.pool import KernelPool

    async with KernelPool.open(cache / "zygote") as opened:
        yield opened


@pytest.fixture(scope="session")
def warm_gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Warm]:
    """A process that has imported everything a gateway needs; those of all rooms are forks of it."""
    from tests.models.testbed import warm_process

    with warm_process(tmp_path_factory.mktemp("warm-gateway")) as process:
        yield process


@pytest.fixture(scope="session")
def warm(warm_gateway: Warm) -> Warm:
    """The same, where a room has no warm process of another kind."""
    return warm_gateway


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where packages are kept: what one test builds another finds, also beside this process and after it."""
    shared = tmp_path_factory.getbasetemp().parent / "cellwright-cache"
    shared.mkdir(mode=0o700, exist_ok=True)
    return shared


Opener = Callable[..., "AbstractAsyncContextManager[OpenNotebook]"]


def notebook_source(*cells: str) -> str:
    """A marimo notebook with these cells."""
    body = "".join(
        "\n\n@app.cell\ndef _():\n" + "".join(f"    {line}\n" if line else "\n" for line in code.splitlines())
        for code in cells
    )
    head = 'import marimo\n\n__generated_with = "0.25.2"\napp = marimo.App()\n'
    return f'{head}{body}\n\nif __name__ == "__main__":\n    app.run()\n'


@pytest.fixture
def write_notebook(tmp_path: Path) -> Callable[..., Path]:
    def write(*cells: str, name: str = "project/notebook.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(notebook_source(*cells))
        return path

    return write


@pytest.fixture
def opened(pool: KernelPool, write_notebook: Callable[..., Path], tmp_path: Path) -> Opener:
    """Open a notebook with these cells from the warm pool: `async with opened("x = 1") as notebook`."""
    from cellwright.app import open_notebook
    from cellwright.settings import Settings

    def open_cells(
        *cells: str, path: Path | None = None, own_pool: KernelPool | None = None, **options: Any
    ) -> AbstractAsyncContextManager[OpenNotebook]:
        where = path or write_notebook(*cells)
        options.setdefault("settings", Settings(home=tmp_path / "home", cache=tmp_path / "cache"))
        return open_notebook(where, pool=own_pool or pool, **options)

    return open_cells
