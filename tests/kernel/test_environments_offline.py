"""Environments while no package index can be reached, and the ways to one: a proxy, a company's own authority."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from dataclasses import replace
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from packaging.requirements import Requirement

from cellwright.errors import Unavailable
from cellwright.kernel.environments.installed_packages import (
    NotInstalled,
    installed_distributions,
    link_distribution,
    missing_distributions,
)
from cellwright.kernel.environments.interpreters import our_interpreter
from cellwright.kernel.environments.lookup import UvSettings, environment_for
from cellwright.kernel.environments.script_header import ScriptHeader
from tests.kernel.test_environments import MARIMO, MSGSPEC, make_wheel
from tests.sandbox.egress.world import HOST, make_certificates
from tests.walled_network import PASSWORD, cut_off, forward_proxy, package_index

WAIT_SECONDS = 240
INTERPRETER = our_interpreter().executable
PACKAGES = our_interpreter().site_packages


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels_here"
    folder.mkdir()
    make_wheel(folder, "marimo", MARIMO)
    make_wheel(folder, "msgspec", MSGSPEC)
    make_wheel(folder, "tool", scripts="tool = tool:main", requires=("idna",))
    make_wheel(folder, "idna", "3.0")
    return folder


def asking_for(*dependencies: str) -> ScriptHeader:
    return ScriptHeader(dependencies=dependencies)


def by(variables: dict[str, str]) -> UvSettings:
    return UvSettings(variables={"UV_HTTP_RETRIES": "0"} | variables, timeout_seconds=WAIT_SECONDS)


# ── reaching an index ──


@pytest.mark.slow
async def test_an_index_is_reached_through_a_proxy_with_a_password_and_a_companys_own_authority(
    tmp_path: Path, wheels: Path
) -> None:
    authority, identity = make_certificates(tmp_path)
    with package_index(wheels, identity) as index, forward_proxy() as proxy:
        # Only the proxy knows the name: nothing else on this machine leads there.
        variables = {"UV_DEFAULT_INDEX": index.url(HOST, scheme="https"), "HTTPS_PROXY": proxy.url()}
        reached = by(variables | {"SSL_CERT_FILE": str(authority)})
        built = await environment_for(asking_for("tool"), cache=tmp_path / "cache", uv=reached)
        assert (built.source, (built.site_packages / "tool.py").is_file()) == ("index", True)
        assert {head.partition(" HTTP")[0] for head in proxy.heads} == {f"CONNECT {HOST}:{index.port}"}

        with pytest.raises(Unavailable) as failed:
            await environment_for(asking_for("tool"), cache=tmp_path / "another", uv=by(variables))
        assert "SSL_CERT_FILE" in failed.value.hint

        wrong = {**variables, "HTTPS_PROXY": proxy.url("another-password"), "SSL_CERT_FILE": str(authority)}
        with pytest.raises(Unavailable) as failed:
            await environment_for(asking_for("tool"), cache=tmp_path / "a-third", uv=by(wrong))
        assert "another-password" not in failed.value.message + failed.value.hint


# ── without one ──


@pytest.mark.slow
async def test_what_was_downloaded_once_makes_a_new_environment_when_the_index_is_gone(
    tmp_path: Path, wheels: Path
) -> None:
    with package_index(wheels) as index:
        uv = by({"UV_DEFAULT_INDEX": index.url()})
        await environment_for(asking_for("tool"), cache=tmp_path / "first", uv=uv)
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "uv").symlink_to(tmp_path / "first" / "uv")
    told: list[str] = []
    made = await environment_for(asking_for("tool"), cache=tmp_path / "second", uv=uv, on_progress=told.append)
    assert made.source == "cache"
    assert sorted(path.name for path in made.site_packages.glob("*.dist-info")) == [
        "idna-3.0.dist-info",
        f"marimo-{MARIMO}.dist-info",
        f"msgspec-{MSGSPEC}.dist-info",
        "tool-1.0.dist-info",
    ]
    assert "The package index cannot be reached: looking on this machine" in told
    found = await environment_for(asking_for("tool"), cache=tmp_path / "second", uv=uv)
    assert found == made, "a kept environment still says where it came from"

    elsewhere = replace(uv, other_caches=(tmp_path / "first" / "uv",))
    own = await environment_for(asking_for("tool"), cache=tmp_path / "third", uv=elsewhere)
    assert own.source == "cache", "the person's own cache of uv counts as well"


async def test_a_cut_off_index_is_one_cause_that_names_what_is_lacking_and_no_password(tmp_path: Path) -> None:
    uv = UvSettings(variables=cut_off(), timeout_seconds=WAIT_SECONDS)
    with pytest.raises(Unavailable) as failed:
        await environment_for(asking_for("no-such-tool==1.0"), cache=tmp_path / "cache", uv=uv)
    assert failed.value.message.startswith("The package index cannot be reached: ")
    assert failed.value.hint == snapshot(
        "Without an index this machine lacks no-such-tool==1.0. "
        "Check the network, the proxy and the index; the doctor shows which are in force."
    )
    assert PASSWORD not in failed.value.message + failed.value.hint
    assert list((tmp_path / "cache" / "environments").iterdir()) == []


@pytest.mark.slow
async def test_without_a_network_an_environment_is_made_of_what_is_installed_and_nothing_else(
    tmp_path: Path, wheels: Path
) -> None:
    """`tool` is only in uv's cache, what it needs and marimo only among our own packages."""
    idna = importlib.metadata.version("idna")
    make_wheel(wheels, "tool", "2.0", requires=(f"idna=={idna}",))
    with package_index(wheels) as index:
        warm = by({"UV_DEFAULT_INDEX": index.url()})
        make_wheel(wheels, "idna", idna)
        await environment_for(asking_for("tool==2.0"), cache=tmp_path / "first", uv=warm)
    for name in ("idna", "marimo", "msgspec"):
        for kept in [*(tmp_path / "first" / "uv").rglob(f"{name}*")]:
            kept.rename(kept.with_name(f"gone-{kept.name}"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "uv").symlink_to(tmp_path / "first" / "uv")
    made = await environment_for(asking_for("tool==2.0"), cache=tmp_path / "cache", uv=warm)
    assert made.source == "installed"
    folders = [path.name.removesuffix(".dist-info") for path in made.site_packages.glob("*.dist-info")]
    here = {folder.rpartition("-")[0].lower() for folder in folders}
    assert {"tool", "idna", "marimo", "msgspec"} <= here
    assert not here & {"cellwright", "pydantic_ai_slim", "dbos", "pytest"}, "what nobody asked for stays out"
    assert json.loads((made.path.parent / "environment.json").read_text())["source"] == "installed"


# ── the parts of it ──


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    made = tmp_path / "venv"
    (made / PACKAGES).mkdir(parents=True)
    return made


def put(prefix: Path, name: str) -> Distribution:
    [distribution] = installed_distributions({name: [Requirement(name)]})
    link_distribution(distribution, prefix, prefix / PACKAGES, INTERPRETER)
    return distribution


def test_a_linked_package_is_whole_has_its_programs_and_no_byte_code(prefix: Path) -> None:
    distribution = put(prefix, "idna")
    packages = prefix / PACKAGES
    assert missing_distributions(packages, ["idna"]) == {}
    assert (packages / "idna" / "core.py").samefile(str(distribution.locate_file("idna/core.py")))
    assert not list(prefix.rglob("*.pyc"))
    program = (prefix / "bin" / "idna").read_text()
    assert program.startswith(f"#!{INTERPRETER}\n")
    assert sys.prefix not in program.partition("\n")[2]
    assert os.access(prefix / "bin" / "idna", os.X_OK)


def test_what_a_package_needs_in_turn_is_lacking_until_it_is_there(prefix: Path) -> None:
    packages = prefix / PACKAGES
    put(prefix, "anyio")
    needed = missing_distributions(packages, ["anyio", "msgspec"])
    assert {"idna", "msgspec"} <= set(needed)
    put(prefix, "idna")
    assert "idna" not in missing_distributions(packages, ["anyio"])


def test_another_version_than_is_asked_for_is_not_taken(prefix: Path) -> None:
    assert (
        installed_distributions({"idna": [Requirement("idna==0.1")], "no-such-tool": [Requirement("no-such-tool")]})
        == []
    )
    put(prefix, "idna")
    with pytest.raises(NotInstalled, match=r"idna==0\.1"):
        missing_distributions(prefix / PACKAGES, ["idna==0.1"])


def test_our_own_checkout_is_no_package_of_a_notebook() -> None:
    assert installed_distributions({"cellwright": [Requirement("cellwright")]}) == []


def test_a_file_that_was_changed_since_it_was_installed_makes_no_environment(prefix: Path, tmp_path: Path) -> None:
    """A package as its wheel brought it, then with one byte more."""
    first = put(prefix, "packaging")
    copied = tmp_path / "copied"
    for path in first.files or ():
        if path.suffix != ".pyc" and ".." not in path.parts:
            (copied / path).parent.mkdir(parents=True, exist_ok=True)
            (copied / path).write_bytes(Path(str(path.locate())).read_bytes())
    (copied / "packaging" / "version.py").write_text("changed = True\n")
    [changed] = importlib.metadata.distributions(path=[str(copied)])
    with pytest.raises(NotInstalled, match="was changed since it was installed"):
        link_distribution(changed, tmp_path / "another", tmp_path / "another" / PACKAGES, INTERPRETER)
