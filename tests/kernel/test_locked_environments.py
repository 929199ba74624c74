"""Environments of checks: resolved each time, installed once for a lock, compared before use, kept within a limit."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.kernel.environments.interpreters import our_interpreter
from cellwright.kernel.environments.locked_environment import last_environment, locked_environment
from cellwright.kernel.environments.plan import Environment
from cellwright.kernel.environments.script_header import ScriptHeader
from cellwright.kernel.environments.uv import UvSettings
from tests.kernel.test_environments import MARIMO, MSGSPEC, make_wheel

PACKAGES = our_interpreter().site_packages


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels_here"
    folder.mkdir()
    make_wheel(folder, "marimo", MARIMO)
    make_wheel(folder, "msgspec", MSGSPEC)
    make_wheel(folder, "tool")
    return folder


class Checks:
    """Asks for environments as checks do, and remembers what was told of each."""

    def __init__(self, cache: Path, wheels: Path, *, is_offline: bool = False) -> None:
        self.cache = cache
        self.uv = UvSettings(find_links=(str(wheels),), no_index=True, offline=is_offline, timeout_seconds=240)
        self.told: list[str] = []

    async def __call__(self, *dependencies: str, kept_bytes: int = 1 << 30) -> Environment:
        self.told.clear()
        async with self.open(*dependencies, kept_bytes=kept_bytes) as environment:
            assert environment.site_packages.is_dir()
            return environment

    def open(self, *dependencies: str, kept_bytes: int = 1 << 30) -> AbstractAsyncContextManager[Environment]:
        header = ScriptHeader(dependencies=dependencies)
        return locked_environment(
            header, cache=self.cache, uv=self.uv, on_progress=self.told.append, kept_bytes=kept_bytes
        )

    async def last(self, *dependencies: str) -> Environment | None:
        header = ScriptHeader(dependencies=dependencies)
        async with last_environment(header, cache=self.cache, uv=self.uv) as environment:
            return environment

    @property
    def has_installed(self) -> bool:
        """Whether the last one asked for was installed."""
        return any(text.startswith("Installing") for text in self.told)


@pytest.fixture
def checks(tmp_path: Path, wheels: Path) -> Checks:
    return Checks(tmp_path / "cache", wheels)


async def test_what_resolves_to_the_same_lock_is_installed_once(checks: Checks) -> None:
    first = await checks("tool")
    assert checks.has_installed
    second = await checks("tool")
    assert not checks.has_installed
    # Another header that comes to the same versions.
    third = await checks("tool>=0.5")
    assert not checks.has_installed
    assert first.path == second.path == third.path


@pytest.mark.slow
async def test_a_newer_version_in_the_index_is_another_environment(checks: Checks, wheels: Path) -> None:
    old = await checks("tool")
    make_wheel(wheels, "tool", "2.0")
    new = await checks("tool")
    assert checks.has_installed
    assert new.path != old.path
    assert (new.site_packages / "tool-2.0.dist-info").is_dir()


@pytest.mark.slow
async def test_a_file_of_the_same_name_with_other_content_is_another_environment(checks: Checks, wheels: Path) -> None:
    old = await checks("tool")
    make_wheel(wheels, "tool", files={"tool.py": "# another\n"})
    shutil.rmtree(checks.cache / "uv")
    assert (await checks("tool")).path != old.path


@pytest.mark.slow
async def test_what_a_header_came_to_last_time_is_known_without_asking_and_only_as_it_was_built(
    checks: Checks, wheels: Path
) -> None:
    assert await checks.last("tool") is None
    old = await checks("tool")
    make_wheel(wheels, "tool", "2.0")
    assert await checks.last("tool") == old
    new = await checks("tool")
    assert await checks.last("tool") == new
    assert await checks.last("tool>=0.5") is None
    (new.site_packages / "evil.pth").write_text("import os\n")
    assert await checks.last("tool") is None
    (new.site_packages / "evil.pth").unlink()
    lock = new.path.parent / "lock.json"
    lock.write_bytes(lock.read_bytes().replace(b"tool==2.0", b"tool==1.0"))
    assert await checks.last("tool") is None


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize("how", ["changed", "added", "removed", "mode", "link"])
async def test_an_environment_that_was_tampered_with_is_built_anew(checks: Checks, how: str) -> None:
    built = await checks("tool")
    module, before = built.site_packages / "tool.py", (built.site_packages / "tool.py").read_bytes()
    times = module.stat()
    match how:
        case "changed":
            # The same size and the same times: only the system knows that it changed.
            module.write_bytes(before[::-1])
            os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
        case "added":
            (built.site_packages / "evil.pth").write_text("import os\n")
        case "removed":
            module.unlink()
        case "mode":
            module.chmod(0o777)
        case _:
            built.python.unlink()
            built.python.symlink_to("/bin/true")
    # What is linked to it, in uv's cache, is not what it was either.
    shutil.rmtree(checks.cache / "uv")
    again = await checks("tool")
    assert checks.has_installed
    assert any("changed since" in text for text in checks.told)
    assert again.path == built.path
    assert module.read_bytes() == before
    assert sorted(path.name for path in again.site_packages.glob("*.pth")) == []
    assert again.python.resolve() == our_interpreter().executable.resolve()


@pytest.mark.slow
async def test_a_file_that_another_environment_shares_is_still_what_it_was(checks: Checks) -> None:
    built = await checks("tool")
    # Sets the time of its last change, and nothing else.
    os.link(built.site_packages / "tool.py", checks.cache / "another-name")
    await checks("tool")
    assert not checks.has_installed


@pytest.mark.slow
async def test_the_least_recently_used_goes_when_there_is_too_much_and_never_one_in_use(
    checks: Checks, wheels: Path
) -> None:
    for name in ("one", "two"):
        make_wheel(wheels, name)
    one, two = await checks("one"), await checks("two")
    await checks("one")
    size = json.loads((one.path.parent / "environment.json").read_bytes())["bytes"]
    tool = await checks("tool", kept_bytes=int(size * 2.5))
    assert [used.path.is_dir() for used in (one, two, tool)] == [True, False, True]
    async with checks.open("one", kept_bytes=1):
        # It takes more than there may be all alone, and stays.
        assert [used.path.is_dir() for used in (one, two, tool)] == [True, False, False]
    assert list((checks.cache / "building").iterdir()) == []


@pytest.mark.slow
async def test_one_that_is_used_by_another_check_is_not_removed(checks: Checks, wheels: Path) -> None:
    make_wheel(wheels, "one")
    async with checks.open("one") as used:
        await checks("tool", kept_bytes=1)
        assert used.path.is_dir()


@pytest.mark.slow
async def test_what_a_killed_builder_left_is_never_used(checks: Checks) -> None:
    built = await checks("tool")
    home = built.path.parent
    half = checks.cache / "building" / home.name
    home.rename(half)
    (half / "venv" / "half").touch()
    again = await checks("tool")
    assert checks.has_installed
    assert again.path == built.path
    assert not (again.path / "half").exists()


@pytest.mark.slow
async def test_without_an_index_it_is_what_is_here_and_says_so(tmp_path: Path, wheels: Path) -> None:
    assert (await Checks(tmp_path / "cache", wheels)("tool")).source == "index"
    offline = Checks(tmp_path / "cache", wheels, is_offline=True)
    assert (await offline("tool")).source == "cache"
    assert not offline.has_installed


async def test_a_package_that_does_not_exist_is_the_headers_fault(checks: Checks) -> None:
    with pytest.raises(UserError, match="cannot be installed together"):
        await checks("no-such-package")
