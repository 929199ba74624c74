"""A missing package: asked about once, with what and from where, then the notebook goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from cellwright.errors import UserError
from cellwright.journal.effects import EffectFound, EffectNotFound
from cellwright.kernel.environments.packages import is_there
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.network import NetworkSettings
from cellwright.notebook.files import read
from cellwright.policy.approvals import No, Yes
from cellwright.settings import Settings
from cellwright.tools.environment_tools import package_tools, requirement_for
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.tool import Done, Refusal, ToolError
from tests.kernel.test_environment_kernels import needed_by, tiny_wheel, wheel_of
from tests.tools.call_driver import open_driver
from tests.tools.guard_driver import ADA

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


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


def test_what_would_be_installed_follows_from_the_import_and_is_never_a_guess() -> None:
    assert requirement_for("sklearn", "") == "scikit-learn"
    assert requirement_for("tiny_tool", "") == "tiny-tool"
    assert requirement_for("", "Scikit_Learn >= 1.4") == "scikit-learn>=1.4"
    for module, requirement in (("json", ""), ("pandas.nothing", ""), ("", ""), ("a", "b"), ("", "x @ file:///x")):
        with pytest.raises(UserError):
            requirement_for(module, requirement)


@pytest.mark.slow
async def test_a_missing_import_asks_once_is_installed_and_the_failed_cell_runs(
    opened: Opener, settings: Settings, where: Path
) -> None:
    cells = ("x = 2", "import tiny_tool\nloud = tiny_tool.shout('hi') * x")
    async with opened(*cells, settings=settings) as notebook:
        editor = await NotebookEditor.open(notebook, where.parent / "desk.json")
        [tool] = package_tools(editor)
        async with open_driver(where, [tool], project=str(notebook.path.parent)) as driver:
            await editor.run("all")
            await driver.begin("a", ("install_package", {"module": "tiny_tool"}))
            question = (await driver.asked()).question
            assert question.describe() == snapshot("""\
Install the package tiny-tool
Asked because: No rule of yours speaks of it; the default for install-package is ask.
A yes for this run or always would cover: install tiny-tool from the configured index, any version\
""")
            await driver.inbox.answer(question.id, Yes(reach="run"), ADA, question.fingerprint)
            [done] = await driver.results("a")
            assert isinstance(done, Done), done
            assert done.text.startswith("Installed tiny-tool; ")
            assert (await notebook.values(["loud"]))["loud"].json == "HI!HI!"
            header = header_of(read(notebook.path).document.header)
            assert header is not None
            assert "tiny-tool" in header.dependencies
            # Whoever wrote it into the header need not be asked again.
            again = await driver.call("install_package", {"requirement": "tiny-tool"}, run="b")
            assert isinstance(again, Done)
            assert again.text == "tiny-tool is in the notebook's header already."


@pytest.mark.slow
async def test_a_no_installs_nothing_and_the_agent_reads_why(opened: Opener, tmp_path: Path, where: Path) -> None:
    settings = Settings(
        home=tmp_path / "home", cache=tmp_path / "cache", connection=NetworkSettings.of({"UV_OFFLINE": "1"})
    )
    async with opened("x = 2", settings=settings) as notebook:
        editor = await NotebookEditor.open(notebook, where.parent / "desk.json")
        async with open_driver(where, package_tools(editor), project=str(notebook.path.parent)) as driver:
            before = notebook.path.read_bytes()
            await driver.begin("a", ("install_package", {"module": "tiny_tool"}))
            question = (await driver.asked()).question
            assert "tiny-tool" in question.describe()
            await driver.inbox.answer(question.id, No(feedback="Use numpy."), ADA, question.fingerprint)
            [refused] = await driver.results("a")
            assert isinstance(refused, Refusal)
            assert "Use numpy." in refused.feedback
            assert notebook.path.read_bytes() == before
            assert not (settings.cache / "environments").exists()


@pytest.mark.slow
async def test_a_rule_that_names_packages_asks_nobody_and_what_cannot_be_had_is_an_error(
    opened: Opener, settings: Settings, where: Path
) -> None:
    rules = '[[rule]]\naction = "install-package"\nthen = "allow"\npackages = ["tiny-tool", "nowhere"]\n'
    async with opened("x = 2", settings=settings) as notebook:
        editor = await NotebookEditor.open(notebook, where.parent / "desk.json")
        [tool] = package_tools(editor)
        async with open_driver(where, [tool], rules=rules, project=str(notebook.path.parent)) as driver:
            arguments = tool.parse({"module": "tiny_tool"})
            nobody: Any = None
            assert await tool.find(arguments, nobody) == EffectNotFound()
            assert isinstance(await driver.call("install_package", {"module": "tiny_tool"}, run="a"), Done)
            assert await tool.find(arguments, nobody) == EffectFound(result=None)
            before = notebook.path.read_bytes()
            failed = await driver.call("install_package", {"module": "nowhere"}, run="b")
            assert isinstance(failed, ToolError)
            assert notebook.path.read_bytes() == before
            guess = await driver.call("install_package", {"module": "json"}, run="c")
            assert isinstance(guess, ToolError)
            assert guess.kind == "not-found"


def test_a_package_is_there_only_in_a_version_that_was_asked_for() -> None:
    there = {"scikit-learn": "1.9.1", "rich": "15.0.0b1"}
    asked = ("scikit-learn", "Scikit_Learn>=1.4", "rich>=15.0.0a1")
    assert [is_there(each, there) for each in asked] == [True, True, True]
    lacked = ("scikit-learn<1.9", "sklearn", "rich[jupyter]", "rich @ https://example.org/r.whl", "no name")
    assert [is_there(each, there) for each in lacked] == [False] * 5
