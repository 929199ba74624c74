"""Notebooks with their own packages: built once, and started only inside their own cage."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from packaging.requirements import Requirement

from cellwright.app import Files
from cellwright.app.notebooks import kernel_options
from cellwright.errors import UserError
from cellwright.kernel.environments.interpreters import Pythons
from cellwright.kernel.environments.lookup import is_satisfied_by_ours
from cellwright.kernel.environments.script_header import ScriptHeader
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.network import NetworkSettings
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import read
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings
from tests.conftest import notebook_source
from tests.kernel.test_interpreters import OURS, STRANGE, installation

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

CANARY = "import os, pathlib; pathlib.Path(os.environ.get('TMPDIR', '/tmp'), 'pth-ran').write_text(str(os.getpid()))"


def wheel_of(name: str, folder: Path) -> None:
    """An installed distribution, packed again: so that no index is needed here."""
    found = distribution(name)
    files = [file for file in found.files or () if ".." not in file.parts and file.suffix != ".pyc"]
    tags = [tag.split("-") for tag in re.findall(r"(?m)^Tag: (.+)$", found.read_text("WHEEL") or "")]
    tag = "-".join(".".join(sorted(set(parts))) for parts in zip(*tags, strict=True))
    title = re.sub(r"[-_.]+", "_", found.name)
    with zipfile.ZipFile(folder / f"{title}-{found.version}-{tag}.whl", "w") as archive:
        for file in files:
            archive.write(str(found.locate_file(file)), str(file))


def needed_by(*names: str) -> set[str]:
    """These distributions and everything they require here."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(name)
        for text in requires:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name.lower())
    return found


def tiny_wheel(folder: Path, version: str = "1.2") -> None:
    with zipfile.ZipFile(folder / f"tiny_tool-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr("tiny_tool.py", f"VERSION = '{version}'\ndef shout(text):\n    return text.upper() + '!'\n")
        archive.writestr("tiny_tool.pth", CANARY + "\n")
        info = f"tiny_tool-{version}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-tool\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        names = ["tiny_tool.py", "tiny_tool.pth", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in names))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name in needed_by("marimo", "msgspec"):
        wheel_of(name, folder)
    tiny_wheel(folder)
    return folder


@pytest.fixture
def settings(wheels: Path, tmp_path: Path) -> Settings:
    variables = {"UV_FIND_LINKS": str(wheels), "UV_OFFLINE": "1"}
    return Settings(home=tmp_path / "home", cache=tmp_path / "cache", connection=NetworkSettings.of(variables))


def with_header(path: Path, *dependencies: str, python: str = "") -> Path:
    listed = "".join(f'#     "{dependency}",\n' for dependency in dependencies)
    asked = f'# requires-python = "{python}"\n' if python else ""
    header = f"# /// script\n{asked}# dependencies = [\n{listed}# ]\n# ///\n\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + notebook_source("x = 1"))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["msgspec", f"msgspec=={version('msgspec')}", "marimo", "cellwright-cells"])
async def test_a_header_that_our_own_packages_satisfy_needs_no_environment(
    opened: Opener, settings: Settings, tmp_path: Path, asked: str
) -> None:
    path = with_header(tmp_path / "project" / "notebook.py", asked)
    async with opened(path=path, settings=settings) as notebook:
        assert (await notebook.apply([CreateCell(code="import msgspec")])).is_ok
        assert notebook.provisioner.environment is None
    assert not (settings.cache / "environments" / "environments").exists()


@pytest.mark.parametrize(
    ("header", "is_satisfied"),
    [
        (ScriptHeader(dependencies=("pandas",)), True),
        (ScriptHeader(dependencies=("pandas<1",)), False),
        (ScriptHeader(dependencies=("no-such-package",)), False),
        # Installed from a checkout, so not what a header means.
        (ScriptHeader(dependencies=("cellwright",)), False),
        (ScriptHeader(requires_python=">=3.99"), False),
    ],
    ids=["there", "another version", "not there", "from a checkout", "another Python"],
)
def test_ours_satisfy_a_header_only_to_the_letter(header: ScriptHeader, is_satisfied: bool) -> None:
    assert is_satisfied_by_ours(header, Pythons()) == is_satisfied


@pytest.mark.slow
async def test_a_notebook_with_a_header_runs_on_its_own_packages_inside_its_own_cage(
    opened: Opener, settings: Settings, tmp_path: Path
) -> None:
    path = with_header(tmp_path / "project" / "notebook.py", "tiny-tool==1.2")
    told: list[str] = []
    async with opened(path=path, settings=settings, on_progress=told.append) as notebook:
        code = "import tiny_tool, pathlib\nloud = tiny_tool.shout('hi')\npid = pathlib.Path('/tmp/pth-ran').read_text()"
        observation = await notebook.apply([CreateCell(code=code), CreateCell(code="import pandas")])
        seen = {variable.name: variable.text for cell in observation.cells for variable in cell.variables}
        assert seen["loud"] == "'HI!'"
        # The wheel's .pth file ran, and in the cage: its own process numbers, its own /tmp.
        assert int(seen["pid"].strip("'")) < 100
        missing = observation.cells[-1].error
        assert missing is not None
        assert missing.type == "ModuleNotFoundError"
    assert not await anyio.Path("/tmp/pth-ran").exists()
    assert told


@pytest.mark.slow
async def test_a_kernel_with_its_own_packages_is_branched_by_a_fork_and_its_programs_have_no_rights(
    opened: Opener, settings: Settings, tmp_path: Path
) -> None:
    path = with_header(tmp_path / "project" / "notebook.py", "tiny-tool==1.2")
    async with opened(path=path, settings=settings) as notebook:
        await notebook.apply([CreateCell(code="import tiny_tool, subprocess\nloud = tiny_tool.shout('hi')")])
        async with notebook.branch() as branch:
            tried = await branch.apply([CreateCell(code="louder = loud + tiny_tool.shout('ho')")])
        assert tried.method is not None
        assert (tried.method.kind, tried.method.reasons) == ("fork", ())
        seen = {variable.name: variable.text for cell in tried.cells for variable in cell.variables}
        assert seen["louder"] == "'HI!HO!'"
        words = ["grep", "-E", "Cap(Eff|Prm|Amb)", "/proc/self/status"]
        observation = await notebook.apply([CreateCell(code=f"print(subprocess.check_output({words}, text=True))")])
        console = "".join(cell.console for cell in observation.cells)
        assert {line.split()[1] for line in console.split("\n") if line} == {"0000000000000000"}


@pytest.mark.slow
async def test_the_second_kernel_of_a_header_uses_the_environment_that_was_built(
    opened: Opener, settings: Settings, tmp_path: Path
) -> None:
    path = with_header(tmp_path / "project" / "notebook.py", "tiny-tool")
    for _ in range(2):
        async with opened(path=path, settings=settings, files=Files(mode="drop")) as notebook:
            assert (await notebook.apply([CreateCell(code="import tiny_tool")])).is_ok
    built = [entry for entry in (settings.cache / "environments").iterdir() if (entry / "bin" / "python").exists()]
    assert len(built) <= 1


@pytest.mark.slow
async def test_a_pin_that_conflicts_with_ours_is_refused_naming_both(
    opened: Opener, settings: Settings, tmp_path: Path
) -> None:
    path = with_header(tmp_path / "project" / "notebook.py", "marimo==0.20.0")
    with pytest.raises(UserError) as refused:
        async with opened(path=path, settings=settings):
            pass
    assert "0.20.0" in refused.value.message
    assert "0.25.2" in refused.value.message


@pytest.mark.slow
async def test_a_notebook_runs_on_the_python_its_header_asks_for_and_sees_nothing_that_lies_beside_it(
    pool: KernelPool, settings: Settings, tmp_path: Path
) -> None:
    path = with_header(tmp_path / "project" / "notebook.py", "tiny-tool==1.2", python=f"=={OURS.version}")
    prefix = installation(tmp_path / "pythons" / "mine").parent.parent
    await anyio.Path(prefix / "keyring").write_text("of the person")
    file, tier = await anyio.to_thread.run_sync(lambda: (read(path), probe().tier))
    options = kernel_options(file, files=Files(mode="drop"), limits=Limits(), tier=tier, settings=settings)
    pythons = replace(options.pythons, versions=(tmp_path / "pythons",), ours=STRANGE)
    async with pool.open_notebook(file, replace(options, pythons=pythons)) as notebook:
        code = (
            "import os, sys, tiny_tool, subprocess\nbase = sys.base_prefix\nbeside = sorted(os.listdir(base))\n"
            "again = subprocess.check_output([sys.executable, '-c', 'import sys; print(sys.base_prefix)'], text=True)"
        )
        observation = await notebook.apply([CreateCell(code=code)])
        seen = {variable.name: variable.text for cell in observation.cells for variable in cell.variables}
        assert (observation.is_ok, seen["base"], seen["beside"]) == (True, repr(str(prefix)), "['bin', 'lib']")
        assert seen["again"] == repr(f"{prefix}\n")
        async with notebook.branch() as branch:
            tried = await branch.apply([CreateCell(code="there = (sys.base_prefix, tiny_tool.VERSION)")])
        assert [variable.text for cell in tried.cells for variable in cell.variables] == [f"('{prefix}', '1.2')"]
        assert notebook.provisioner.python == OURS.version
