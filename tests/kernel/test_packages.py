"""A package a notebook lacks: which one, what its header says then, and a kernel that goes on with it."""

from __future__ import annotations

import importlib.metadata
import zipfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.environments.packages import (
    MissingPackage,
    added_between,
    for_module,
    missing_package,
    packages_used,
    with_package,
)
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.observation import CellFault
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.network import NetworkSettings
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import read
from cellwright.sandbox.host.tiers import probe
from cellwright.settings import Settings
from tests.kernel.test_environment_kernels import needed_by, wheel_of

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
MARIMO = importlib.metadata.version("marimo")


def make_wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: str = "") -> None:
    info = f"{name}-{version}.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    content = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name in needed_by("marimo", "msgspec"):
        wheel_of(name, folder)
    make_wheel(folder, "loud", "1.0", {"loud.py": "def shout(text):\n    return text.upper()\n"})
    make_wheel(folder, "loud", "0.9", {"loud.py": "def shout(text):\n    return text\n"})
    make_wheel(folder, "polite", "2.0", {"polite/__init__.py": "import loud\nPLEASE = 'please'\n"}, "loud")
    make_wheel(folder, "murder", "1.0", {"murder.py": "", "murder.pth": "import os; os._exit(9)\n"})
    return folder


@pytest.fixture
def settings(wheels: Path, tmp_path: Path) -> Settings:
    variables = {"UV_FIND_LINKS": str(wheels), "UV_OFFLINE": "1"}
    return Settings(home=tmp_path / "home", cache=tmp_path / "cache", connection=NetworkSettings.of(variables))


# ── which one ──


def missing(message: str, kind: str = "ModuleNotFoundError") -> MissingPackage | None:
    return missing_package(CellFault(type=kind, message=message))


def test_an_import_that_failed_says_which_distribution_it_needs() -> None:
    assert missing("No module named 'sklearn'") == MissingPackage(
        module="sklearn", requirement="scikit-learn", is_known=True
    )
    assert missing("No module named 'left_pad'") == MissingPackage(
        module="left_pad", requirement="left-pad", is_known=False
    )
    famous = ["cv2", "PIL", "yaml", "bs4", "dateutil", "google.cloud.bigquery"]
    assert [found.requirement for name in famous if (found := for_module(name))] == [
        "opencv-python-headless",
        "pillow",
        "pyyaml",
        "beautifulsoup4",
        "python-dateutil",
        "google-cloud-bigquery",
    ]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("No module named 'pandas.nonsense'", "ModuleNotFoundError"),
        ("No module named 'tkinter'", "ModuleNotFoundError"),
        ("No module named 'cellwright'", "ModuleNotFoundError"),
        ("No module named 'cellwright_cells'", "ModuleNotFoundError"),
        ("No module named 'x @ https://evil.example'", "ModuleNotFoundError"),
        ("No module named '--index-url=evil'", "ModuleNotFoundError"),
        ("read this first: No module named 'evil'", "ModuleNotFoundError"),
        ("No module named 'sklearn'", "ImportError"),
    ],
)
def test_what_no_package_would_repair_asks_for_none(message: str, kind: str) -> None:
    assert missing(message, kind) is None


# ── the header ──


def document(header: str = "", *codes: str) -> Document:
    cells = tuple(Cell(id=CellId(f"c{number}"), code=code) for number, code in enumerate(codes))
    return Document(cells=cells, header=header)


@pytest.mark.slow
def test_the_first_header_also_names_what_the_notebook_uses_already() -> None:
    notebook = document('"""Mine."""\n', "import narwhals.typing as n, os", "from packaging import x\nimport left_pad")
    narwhals, packaging = importlib.metadata.version("narwhals"), importlib.metadata.version("packaging")
    after = with_package(notebook, "Loud >= 1")
    assert set(added_between(notebook, after)) == {
        f"marimo=={MARIMO}",
        f"narwhals=={narwhals}",
        f"packaging=={packaging}",
        "loud>=1",
    }
    assert after.header.endswith('# ///\n\n"""Mine."""\n')
    assert packages_used(document("", "import cellwright")) == (f"marimo=={MARIMO}",)
    cells = f"cellwright-cells>={importlib.metadata.version('cellwright-cells')}"
    assert packages_used(document("", "import cellwright_cells")) == (f"marimo=={MARIMO}", cells)


def test_a_header_gains_one_line_and_keeps_all_others() -> None:
    header = (
        "#!/usr/bin/env python\n# /// script\n# requires-python = '>=3.11'\n# dependencies = [\n"
        '#     "pandas>=2",  # for "tables" [sic]\n#     # and more\n#     \'numpy\'\n# ]\n'
        "#\n# [tool.mine]\n# colour = 'red'\n# ///\n\n'''Words.'''\n"
    )
    assert with_package(document(header), "loud").header == snapshot("""\
#!/usr/bin/env python
# /// script
# requires-python = '>=3.11'
# dependencies = [
#     "loud",
#     "pandas>=2",  # for "tables" [sic]
#     # and more
#     'numpy'
# ]
#
# [tool.mine]
# colour = 'red'
# ///

'''Words.'''
""")


@pytest.mark.parametrize(
    ("listed", "after"),
    [
        ("dependencies = []", ("loud",)),
        ('dependencies = ["pandas"]', ("loud", "pandas")),
        ("dependencies = [ 'a[b]>=1', \"c]\" ]".replace("c]", "c"), ("a[b]>=1", "c", "loud")),
        ('dependencies = ["Loud==0.9", "x"]', ("loud>=1", "x")),
        ("requires-python = '>=3.11'", ("loud",)),
        ('"dependencies" = ["x"]', ("loud", "x")),
        ("[tool.mine]\n# colour = 'red'", ("loud",)),
    ],
)
def test_every_way_to_write_dependencies_is_understood(listed: str, after: tuple[str, ...]) -> None:
    wanted = "loud>=1" if "Loud" in listed else "loud"
    changed = with_package(document(f"# /// script\n# {listed}\n# ///\n"), wanted)
    header = header_of(changed.header)
    assert header is not None
    assert header.dependencies == after


def test_what_is_asked_for_already_changes_nothing() -> None:
    notebook = document('# /// script\n# dependencies = ["loud>=1"]\n# ///\n')
    assert with_package(notebook, "loud") is notebook
    assert with_package(notebook, "Loud>=1") is notebook


@pytest.mark.parametrize("requirement", ["loud @ https://evil.example/x.whl", "./here", "--pre", "-r file", "", "a b"])
def test_only_names_with_versions_can_be_asked_for(requirement: str) -> None:
    with pytest.raises(UserError):
        with_package(document(), requirement)


def test_a_header_we_cannot_change_safely_is_left_alone() -> None:
    # Both are `# /// script` blocks to PEP 723, which ends a block at its last `# ///`.
    odd = document('# /// script\n# x = """\n# ///\n# """\n# ///\n')
    with pytest.raises(UserError, match="cannot be added"):
        with_package(odd, "loud")


# ── the kernel ──


@pytest.mark.slow
async def test_a_missing_package_is_installed_and_what_had_run_and_what_failed_runs(
    opened: Opener, settings: Settings
) -> None:
    cells = ("import narwhals\nx = 20", "import loud\ny = loud.shout('hi') * (x // 20)", "z = y + '!'")
    async with opened(*cells, settings=settings) as notebook:
        observation = await notebook.run("all")
        package = missing_package(observation.cells[1].error)
        assert package is not None
        assert package.requirement == "loud"
        installed = await notebook.install(package.requirement)
        assert installed.way in ("replayed", "continued")
        assert installed.observation.is_ok, installed.observation
        assert "loud" in installed.added
        values = await notebook.values(["x", "z"])
        assert {name: value.json for name, value in values.items()} == {"x": 20, "z": "HI!"}
        assert await notebook.save() is None
        header = header_of(read(notebook.path).document.header)
        assert header is not None
        assert {"loud", f"marimo=={MARIMO}"} <= set(header.dependencies)


@pytest.mark.slow
async def test_a_second_package_joins_the_first_and_its_own_needs_come_along(
    opened: Opener, settings: Settings
) -> None:
    async with opened("x = 1", settings=settings) as notebook:
        await notebook.run("all")
        await notebook.install("loud")
        installed = await notebook.install("polite==2.0")
        assert installed.added == ("polite==2.0",)
        observation = await notebook.apply([CreateCell(code="import polite, loud as l\nw = l.shout(polite.PLEASE)")])
        assert observation.is_ok, observation
        assert (await notebook.install("polite")).way == "already there"


@pytest.mark.slow
async def test_the_kernel_goes_on_with_all_it_had_where_nothing_it_has_changes(
    opened: Opener, settings: Settings
) -> None:
    cells = ("import os\nkernel, live = os.getpid(), iter([1, 2, 3])\nnext(live)", "import loud\nloud.shout('a')")
    async with opened(*cells, settings=settings) as notebook:
        await notebook.run("all")
        await notebook.apply([CreateCell(code="second = next(live)")])
        installed = await notebook.install("loud")
        assert installed.way == "continued"
        assert [cell.id for cell in installed.observation.cells] == [notebook.document.cells[1].id]
        observation = await notebook.apply([CreateCell(code="third = next(live)")])
        assert observation.is_ok, observation
        values = await notebook.values(["second", "third"])
        assert {name: value.json for name, value in values.items()} == {"second": 2, "third": 3}
        await notebook.restart()
        assert (await notebook.run([notebook.document.cells[1].id])).is_ok


@pytest.mark.slow
async def test_another_version_of_what_the_kernel_has_needs_a_new_kernel_and_a_replay(
    opened: Opener, settings: Settings
) -> None:
    async with opened("x = 3", "import loud\nsaid = loud.shout('a')", settings=settings) as notebook:
        await notebook.run("all")
        await notebook.install("loud<1")
        assert (await notebook.values(["said"]))["said"].json == "a"
        installed = await notebook.install("loud>=1")
        assert installed.way == "replayed"
        values = await notebook.values(["said", "x"])
        assert {name: value.json for name, value in values.items()} == {"said": "A", "x": 3}


@pytest.mark.slow
async def test_what_cannot_be_had_leaves_notebook_and_kernel_as_they_were(opened: Opener, settings: Settings) -> None:
    async with opened("x = [1]", settings=settings) as notebook:
        await notebook.run("all")
        before, kernel = notebook.document, notebook.live.kernel
        with pytest.raises((UserError, Unavailable)):
            await notebook.install("no-such-package-anywhere")
        with pytest.raises(UserError):
            await notebook.install("marimo==0.20.0")
        assert notebook.document is before
        assert notebook.live.kernel is kernel


@pytest.mark.slow
async def test_a_package_that_keeps_kernels_from_starting_is_taken_out_again(
    opened: Opener, settings: Settings
) -> None:
    async with opened("x = [1]", settings=settings) as notebook:
        await notebook.run("all")
        before = notebook.document
        with pytest.raises(Unavailable):
            await notebook.install("murder")
        assert notebook.document.header == before.header
        assert (await notebook.values(["x"]))["x"].json == [1]


async def test_compiled_modules_can_be_handed_over_too(opened: Opener) -> None:
    code = """
import shutil, sys, tempfile, importlib.util, glob
[library] = glob.glob(f"{importlib.util.find_spec('msgspec').submodule_search_locations[0]}/_core*.so")
folder = tempfile.mkdtemp()
copy = shutil.copy(library, folder)
import ctypes
loaded = ctypes.CDLL(copy) is not None
"""
    async with opened(code) as notebook:
        assert (await notebook.run("all")).is_ok


@pytest.mark.slow
async def test_where_environments_are_off_nothing_is_installed(
    pool: KernelPool, write_notebook: Callable[..., Path]
) -> None:
    path = write_notebook("x = 1")
    async with pool.open_notebook(path, KernelOptions(project=path.parent, tier=probe().tier)) as notebook:
        with pytest.raises(RefusedByPolicy):
            await notebook.install("loud")


@pytest.mark.slow
async def test_the_mark_is_there_on_the_notebooks_own_packages_too(opened: Opener, settings: Settings) -> None:
    async with opened("import cellwright_cells as cellwright", settings=settings) as notebook:
        await notebook.run("all")
        installed = await notebook.install("loud")
        assert any(one.startswith("cellwright-cells>=") for one in installed.added)
        assert (await notebook.apply([CreateCell(code="shop = cellwright.connection('shop')")])).is_ok
        code = "import loud\n@cellwright.tool\ndef cry(text: str) -> str:\n    return loud.shout(text)"
        assert (await notebook.apply([CreateCell(code=code)])).is_ok
        [function] = await notebook.functions()
        assert function.parameters["properties"] == {"text": {"type": "string"}}
