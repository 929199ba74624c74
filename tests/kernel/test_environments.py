"""Environments are built by the real uv from wheels made here; nothing needs a network."""

import importlib.metadata
import io
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from uv import find_uv_bin

from cellwright.errors import Unavailable, UserError
from cellwright.kernel.environments.interpreters import our_interpreter
from cellwright.kernel.environments.lookup import (
    Environment,
    UvSettings,
    environment_for,
)
from cellwright.kernel.environments.script_header import (
    DEPENDENCIES_LIMIT,
    HEADER_LIMIT_CHARS,
    ScriptHeader,
    header_of,
    requirements_for,
)

MARIMO = importlib.metadata.version("marimo")
MSGSPEC = importlib.metadata.version("msgspec")
WAIT_SECONDS = 240

BUILD = """
import sys, anyio
from pathlib import Path
from cellwright.kernel.environments.lookup import UvSettings, environment_for
from cellwright.kernel.environments.script_header import ScriptHeader
cache, wheels, binary = map(Path, sys.argv[1:4])
uv = UvSettings(find_links=(str(wheels),), no_index=True, binary=binary)
async def build():
    return await environment_for(ScriptHeader(dependencies=("tool",)), cache=cache, uv=uv)
sys.stdout.write(str(anyio.run(build).path))
"""


# --- parts ----------------------------------------------------------------------------------------------------------


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    files: Mapping[str, str] | None = None,
    requires: tuple[str, ...] = (),
    scripts: str = "",
    tag: str = "py3-none-any",
) -> None:
    information = f"{name}-{version}.dist-info"
    content = dict(files if files is not None else {f"{name}.py": "def main(): print('ran', __name__)\n"})
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    content[f"{information}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    content[f"{information}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"
    if scripts:
        content[f"{information}/entry_points.txt"] = f"[console_scripts]\n{scripts}\n"
    content[f"{information}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{information}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)


def make_sdist(folder: Path, name: str, backend: str) -> None:
    """A source distribution that brings its own build backend, so that building it needs nothing else."""
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": backend,
    }
    with tarfile.open(folder / f"{name}-1.0.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}-1.0/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels_here"
    folder.mkdir()
    make_wheel(folder, "marimo", MARIMO)
    make_wheel(folder, "msgspec", MSGSPEC)
    make_wheel(folder, "tool", scripts="tool = tool:main")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def uv(wheels: Path) -> UvSettings:
    return UvSettings(find_links=(str(wheels),), no_index=True, timeout_seconds=WAIT_SECONDS)


def asking_for(*dependencies: str) -> ScriptHeader:
    return ScriptHeader(dependencies=dependencies)


def notebook(toml: str) -> str:
    commented = "".join(f"# {line}".rstrip() + "\n" for line in toml.splitlines())
    return f"# /// script\n{commented}# ///\n\nimport marimo\n"


def executable(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def counting_uv(tmp_path: Path) -> tuple[Path, Path]:
    """The real uv behind a script that writes one line per call."""
    log = tmp_path / "calls"
    log.touch()
    script = f'echo "$*" >> {shlex.quote(str(log))}\nexec {shlex.quote(find_uv_bin())} "$@"'
    return executable(tmp_path / "counting-uv", script), log


def stalled_uv(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A uv that half fills its prefix, says so on one pipe and stays until the other is closed."""
    started, release = tmp_path / "started", tmp_path / "release"
    os.mkfifo(started)
    os.mkfifo(release)
    script = f"""
    for argument in "$@"; do case "$argument" in --prefix=*) prefix="${{argument#--prefix=}}";; esac; done
    mkdir -p "$prefix/lib" && echo half > "$prefix/lib/half.py"
    exec 3> {shlex.quote(str(started))}
    echo started >&3
    sleep 60 &
    read line < {shlex.quote(str(release))}
    kill $!"""
    return executable(tmp_path / "stalled-uv", script), started, release


def saying_uv(tmp_path: Path, words: str, code: int) -> Path:
    return executable(tmp_path / "saying-uv", f"echo {shlex.quote(words)} >&2\nexit {code}")


def finished(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("environments/*"))


def half_built(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("building/*"))


# --- what a notebook asks for ---------------------------------------------------------------------------------------


def test_a_notebook_without_a_header_has_none() -> None:
    assert header_of("import marimo\n\napp = marimo.App()\n") is None


def test_a_header_is_read_in_one_spelling() -> None:
    source = notebook(
        'requires-python = ">=3.11"\n'
        'dependencies = [\n    "Pandas >= 2, <4",\n    "pandas<4,>=2",\n    "Foo_Bar[b,A]==1.*",\n'
        "    \"tomli; python_version < '3'\",\n]\n\n[tool.marimo.runtime]\nauto_instantiate = false"
    )
    assert header_of(source) == snapshot(
        ScriptHeader(
            dependencies=("foo-bar[a,b]==1.*", "pandas<4,>=2", 'tomli ; python_version < "3"'),
            requires_python=">=3.11",
        )
    )


def test_the_order_and_spelling_of_dependencies_do_not_change_the_requirements() -> None:
    assert requirements_for(asking_for("A_b>=1", "c"), our_interpreter()) == requirements_for(
        asking_for("c", "a-B >= 1"), our_interpreter()
    )


def test_a_dependency_for_another_platform_is_left_out() -> None:
    assert requirements_for(asking_for("pywin32; sys_platform == 'win32'"), our_interpreter()) == (
        f"marimo=={MARIMO}",
        f"msgspec=={MSGSPEC}",
    )


def test_a_header_with_windows_line_endings_is_read() -> None:
    source = notebook('dependencies = ["tool"]').replace("\n", "\r\n")
    assert header_of(source) == asking_for("tool")


def test_two_headers_are_refused() -> None:
    with pytest.raises(UserError, match="2 `# /// script` headers"):
        header_of(2 * notebook("dependencies = []"))


@pytest.mark.parametrize(
    "dependency",
    [
        "tool @ file:///etc/passwd",
        "tool @ git+https://example.invalid/tool.git",
        "tool @ https://example.invalid/tool-1.0-py3-none-any.whl",
        "tool@ssh://example.invalid/tool",
    ],
)
def test_a_direct_reference_is_refused(dependency: str) -> None:
    with pytest.raises(UserError, match="files, URLs and repositories are not installed") as refused:
        header_of(notebook(f'dependencies = ["{dependency}"]'))
    assert refused.value.hint


@pytest.mark.parametrize(
    "dependency",
    [
        "-e .",
        "./tool",
        "/etc/passwd",
        "..",
        "--index-url https://example.invalid/simple",
        "tool --hash=sha256:00",
        "-r other.txt",
        "git+https://example.invalid/tool.git",
        "tool===${HOME}",
        "tool\\n-e .",
        "tool==١",
        "",
        "tool; " + "(" * 450,
        "x" * 600,
    ],
)
def test_what_is_not_a_name_with_versions_is_refused(dependency: str) -> None:
    with pytest.raises(UserError, match="not a package name with versions") as refused:
        header_of(notebook(f'dependencies = ["{dependency}"]'))
    assert refused.value.hint


def test_a_header_value_made_by_hand_is_checked_as_well() -> None:
    with pytest.raises(UserError, match="are not installed"):
        requirements_for(asking_for("tool @ file:///etc/passwd"), our_interpreter())


@pytest.mark.parametrize(
    "table",
    [
        '[tool.uv.sources]\ntool = { path = "../tool", editable = true }',
        '[tool.uv.sources]\ntool = { git = "https://example.invalid/tool.git" }',
        '[[tool.uv.index]]\nurl = "https://example.invalid/simple"',
        '[tool.uv]\nindex-url = "https://example.invalid/simple"',
        '[tool.uv]\nfind-links = ["/etc"]',
        "[tool.uv]\nno-build-isolation = true",
        '[tool.uv]\noverride-dependencies = ["msgspec==0.1"]',
        "[tool]\nuv = 3",
    ],
)
def test_settings_for_uv_that_change_what_is_installed_are_refused(table: str) -> None:
    with pytest.raises(UserError, match=r"tool\.uv"):
        header_of(notebook(f'dependencies = ["tool"]\n{table}'))


def test_settings_for_uv_that_change_nothing_here_are_ignored() -> None:
    table = '[tool.uv]\nno-build = false\nlink-mode = "symlink"\ncompile-bytecode = true\nsources = {}\nindex = []'
    assert header_of(notebook(f'dependencies = ["tool"]\n{table}')) == asking_for("tool")


@pytest.mark.parametrize(
    "toml",
    [
        "dependencies = [",
        "dependencies = 3",
        "dependencies = [1]",
        'dependencies = "tool"',
        "requires-python = 3.11",
        'requires-python = "python 3"',
        f"a = {'[' * 5000}",
        f"a = {'1' * 5000}",
        "#" * (HEADER_LIMIT_CHARS + 1),
        f"dependencies = {['tool'] * (DEPENDENCIES_LIMIT + 1)}",
    ],
)
def test_a_malformed_header_is_a_user_error_with_a_hint(toml: str) -> None:
    with pytest.raises(UserError) as refused:
        header_of(notebook(toml))
    assert refused.value.hint
    assert len(refused.value.message) < 500


PEP_723 = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


@given(
    st.lists(st.sampled_from(["# /// script", "# ///", "# /// other", "#", "# x = 1", "", "y", "#z", " # ///"])).map(
        "\n".join
    )
)
def test_headers_are_found_exactly_where_pep_723_finds_them(source: str) -> None:
    blocks = [match for match in PEP_723.finditer(source) if match.group("type") == "script"]
    if len(blocks) > 1:
        with pytest.raises(UserError, match="headers"):
            header_of(source)
        return
    try:
        found = header_of(source) is not None
    except UserError:
        found = True
    assert found == bool(blocks)


hostile_text = st.one_of(
    st.text(),
    st.text(alphabet="[]{}()\"'=.,;#@\\ \t\nab1<>!~*-$%`"),
    st.sampled_from(["__import__('os')", "tool; extra == 'x'", "tool; os_name < 'a'", "tool; python_version ~= 'x'"]),
    st.builds("{}{}{}".format, st.sampled_from(["tool", "marimo", "-e", "a @ "]), st.text(max_size=9), st.text()),
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(hostile_text, st.lists(hostile_text, max_size=4), st.booleans())
def test_arbitrary_header_text_gives_plain_requirements_or_a_user_error(
    text: str, dependencies: list[str], listed: bool
) -> None:
    items = ", ".join('"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"' for item in dependencies)
    source = notebook(f"dependencies = [{items}]") if listed else f"# /// script\n# {text}\n# ///\n"
    with suppress(UserError):
        header = header_of(source)
        if header is not None:
            for requirement in requirements_for(header, our_interpreter()):
                assert re.fullmatch(r"[a-z0-9-]+(\[[a-z0-9,-]+\])?[a-zA-Z0-9.*+!<>=~,_-]*", requirement)


# --- conflicts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pin", "ours"), [("marimo==0.20", f"marimo=={MARIMO}"), ("msgspec<0.20", f"msgspec=={MSGSPEC}")]
)
async def test_a_pin_against_our_own_packages_is_refused_naming_both(
    cache: Path, uv: UvSettings, pin: str, ours: str
) -> None:
    with pytest.raises(UserError) as refused:
        await environment_for(asking_for(pin), cache=cache, uv=uv)
    assert pin in refused.value.message
    assert ours in refused.value.message
    assert refused.value.hint


async def test_a_package_that_needs_another_msgspec_is_refused_naming_both(
    cache: Path, wheels: Path, uv: UvSettings
) -> None:
    make_wheel(wheels, "oldfriend", requires=("msgspec<0.20",))
    with pytest.raises(UserError) as refused:
        await environment_for(asking_for("oldfriend"), cache=cache, uv=uv)
    assert "oldfriend" in refused.value.message
    assert "msgspec<0.20" in refused.value.message
    assert f"msgspec=={MSGSPEC}" in refused.value.message
    assert (finished(cache), half_built(cache)) == ([], [])


async def test_another_python_is_refused_naming_both(cache: Path, uv: UvSettings) -> None:
    with pytest.raises(UserError) as refused:
        await environment_for(ScriptHeader(requires_python="<3.8"), cache=cache, uv=uv)
    assert "Python <3.8" in refused.value.message
    assert "Python 3." in refused.value.message


# --- building -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_an_environment_is_a_virtual_environment_of_our_own_interpreter(cache: Path, uv: UvSettings) -> None:
    told: list[str] = []
    environment = await environment_for(asking_for("tool"), cache=cache, uv=uv, on_progress=told.append)

    assert environment == Environment(
        key=environment.key,
        path=cache / "environments" / environment.key / "venv",
        python=environment.path / "bin" / "python",
        interpreter=our_interpreter(),
        site_packages=environment.path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages",
        requirements=(f"marimo=={MARIMO}", f"msgspec=={MSGSPEC}", "tool"),
    )
    assert (environment.site_packages / "tool.py").is_file()
    assert any(line.startswith("Resolved 3 packages") for line in told)
    assert half_built(cache) == []

    program = "import sys, tool; print(sys.prefix, sys.base_prefix)"
    said = await anyio.run_process([environment.python, "-I", "-c", program], env={})
    assert said.stdout.decode().split() == [str(environment.path), sys.base_prefix]
    script = await anyio.run_process([environment.path / "bin" / "tool"], env={"PATH": "/usr/bin:/bin"})
    assert script.stdout == b"ran tool\n"


async def test_an_environment_can_be_read_by_another_user_but_not_changed(cache: Path, uv: UvSettings) -> None:
    before = os.umask(0o077)
    try:
        environment = await environment_for(asking_for("tool"), cache=cache, uv=uv)
    finally:
        os.umask(before)
    for path in [environment.path, *environment.path.rglob("*")]:
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            assert mode & 0o004, path
            assert not mode & 0o022, path


async def test_a_kept_environment_is_used_without_calling_uv(tmp_path: Path, cache: Path, uv: UvSettings) -> None:
    binary, calls = counting_uv(tmp_path)
    first = await environment_for(asking_for("tool"), cache=cache, uv=replace(uv, binary=binary))
    second = await environment_for(asking_for("Tool"), cache=cache, uv=replace(uv, binary=tmp_path / "no-uv-here"))
    assert first == second
    assert len(calls.read_text().splitlines()) == 1


@pytest.mark.slow
async def test_other_requirements_get_another_environment(cache: Path, uv: UvSettings) -> None:
    plain = await environment_for(asking_for(), cache=cache, uv=uv)
    other = await environment_for(asking_for("tool"), cache=cache, uv=uv)
    assert finished(cache) == sorted([plain.key, other.key])


@pytest.mark.slow
async def test_a_damaged_environment_is_built_again(cache: Path, uv: UvSettings) -> None:
    first = await environment_for(asking_for("tool"), cache=cache, uv=uv)
    first.python.unlink()
    second = await environment_for(asking_for("tool"), cache=cache, uv=uv)
    assert first == second
    assert second.python.exists()


async def test_nothing_from_a_wheel_runs_while_its_environment_is_built(
    tmp_path: Path, cache: Path, wheels: Path, uv: UvSettings
) -> None:
    canary = tmp_path / "canary"
    make_wheel(wheels, "sneaky", files={"sneaky.py": "", "sneaky.pth": f"import os; open({str(canary)!r}, 'w')\n"})
    make_wheel(wheels, "later", requires=("sneaky",))
    environment = await environment_for(asking_for("sneaky", "later"), cache=cache, uv=uv)
    await environment_for(asking_for("sneaky", "later"), cache=cache, uv=uv)
    assert not canary.exists()

    # The canary is live: the environment's own interpreter, which belongs in a cage, wakes it.
    await anyio.run_process([environment.python, "-I", "-c", ""], env={})
    assert canary.exists()


async def test_a_source_distribution_is_refused_and_never_run(
    tmp_path: Path, cache: Path, wheels: Path, uv: UvSettings
) -> None:
    canary = tmp_path / "canary"
    make_sdist(wheels, "fromsource", f"open({str(canary)!r}, 'w')")
    with pytest.raises(UserError, match="fromsource") as refused:
        await environment_for(asking_for("fromsource"), cache=cache, uv=uv)
    assert "Only wheels are installed" in refused.value.hint
    assert not canary.exists()

    # The canary is live: a uv that may build wakes it.
    command = [find_uv_bin(), "pip", "install", "--no-config", "--no-index", "--find-links", str(wheels), "fromsource"]
    target = ["--python", sys.executable, "--prefix", str(tmp_path / "prefix"), "--cache-dir", str(tmp_path / "other")]
    await anyio.run_process([*command, *target], check=False, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert canary.exists()


async def test_a_package_that_needs_a_file_or_a_repository_is_refused(
    tmp_path: Path, cache: Path, wheels: Path, uv: UvSettings
) -> None:
    make_wheel(tmp_path, "hidden")
    make_wheel(wheels, "filed", requires=(f"hidden @ file://{tmp_path}/hidden-1.0-py3-none-any.whl",))
    make_wheel(wheels, "cloned", requires=(f"hidden @ git+file://{tmp_path}",))
    for name in ("filed", "cloned"):
        with pytest.raises(UserError, match="hidden"):
            await environment_for(asking_for(name), cache=cache, uv=uv)
    assert (finished(cache), half_built(cache)) == ([], [])


async def test_a_wheel_for_another_platform_is_refused(cache: Path, wheels: Path, uv: UvSettings) -> None:
    make_wheel(wheels, "elsewhere", tag="cp311-cp311-win_amd64")
    with pytest.raises(UserError, match="elsewhere"):
        await environment_for(asking_for("elsewhere"), cache=cache, uv=uv)
    assert (finished(cache), half_built(cache)) == ([], [])


async def test_an_unknown_package_is_refused_by_name(cache: Path, uv: UvSettings) -> None:
    with pytest.raises(UserError, match="nosuchpackage"):
        await environment_for(asking_for("nosuchpackage"), cache=cache, uv=uv)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "scripts"),
    [
        ({"evil.py": ""}, "../../../../slipped = evil:main"),
        ({"evil.py": "", "evil-1.0.data/scripts/python": "#!/bin/sh\n"}, ""),
        ({"evil.py": "", "evil-1.0.data/data/bin/python": "#!/bin/sh\n"}, ""),
        ({"evil.py": "", "evil-1.0.data/data/bin": "not a folder"}, ""),
        ({"evil.py": "", "evil-1.0.data/data/pyvenv.cfg/x": "not a file"}, ""),
    ],
)
async def test_a_wheel_that_reaches_out_of_its_place_gives_no_environment(
    cache: Path, wheels: Path, uv: UvSettings, files: dict[str, str], scripts: str
) -> None:
    make_wheel(wheels, "evil", files=files, scripts=scripts)
    with pytest.raises(UserError):
        await environment_for(asking_for("evil"), cache=cache, uv=uv)
    assert (finished(cache), half_built(cache)) == ([], [])
    assert not list(cache.parent.rglob("slipped"))


async def test_a_wheel_cannot_choose_the_interpreter(cache: Path, wheels: Path, uv: UvSettings) -> None:
    make_wheel(wheels, "evil", files={"evil-1.0.data/data/pyvenv.cfg": "home = /evil\n"})
    environment = await environment_for(asking_for("evil"), cache=cache, uv=uv)
    assert environment.python.samefile(sys.executable)
    assert "evil" not in (environment.path / "pyvenv.cfg").read_text()
    kept = [path.read_text() for path in (cache / "uv").rglob("pyvenv.cfg")]
    assert kept == ["home = /evil\n"]


async def test_uv_sees_only_index_proxy_and_certificate_variables(tmp_path: Path, cache: Path) -> None:
    log = tmp_path / "seen"
    binary = executable(tmp_path / "env-uv", f"env > {shlex.quote(str(log))}; pwd >> {shlex.quote(str(log))}; exit 1")
    variables = {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "no_proxy": "localhost",
        "UV_INDEX_MINE_PASSWORD": "secret",
        "UV_FIND_LINKS": "/a,/b",
        "SSL_CERT_FILE": "/certificate",
        "PIP_INDEX_URL": "/evil",
        "UV_PYTHON": "/evil",
        "UV_CONFIG_FILE": "/evil",
        "PYTHONPATH": "/evil",
        "OPENAI_API_KEY": "/evil",
    }
    settings = UvSettings(index_url="http://127.0.0.1:9/simple", variables=variables, binary=binary)
    with pytest.raises(Unavailable):
        await environment_for(asking_for(), cache=cache, uv=settings)
    *seen, folder = log.read_text().splitlines()
    ours = [line for line in seen if not re.match(r"(_|PWD|OLDPWD|SHLVL)=", line)]
    assert sorted(ours) == [
        f"HOME={cache / 'home'}",
        "HTTPS_PROXY=http://127.0.0.1:9",
        "PATH=/usr/bin:/bin",
        "SSL_CERT_FILE=/certificate",
        "UV_DEFAULT_INDEX=http://127.0.0.1:9/simple",
        "UV_FIND_LINKS=/a,/b",
        "UV_INDEX_MINE_PASSWORD=secret",
        "no_proxy=localhost",
    ]
    assert folder == str(cache / "home")
    assert "secret" not in repr(settings)


# --- when it does not work ------------------------------------------------------------------------------------------


async def test_an_index_that_cannot_be_reached_is_unavailable_and_keeps_its_password(cache: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://person:secret@127.0.0.1:{unused.getsockname()[1]}/simple"
        uv = UvSettings(index_url=url, variables={"UV_HTTP_RETRIES": "0"}, timeout_seconds=WAIT_SECONDS)
        with pytest.raises(Unavailable, match="cannot be reached") as failed:
            await environment_for(asking_for("tool"), cache=cache, uv=uv)
    assert "secret" not in failed.value.message
    assert failed.value.hint


async def test_offline_without_the_packages_is_unavailable(cache: Path) -> None:
    uv = UvSettings(offline=True, timeout_seconds=WAIT_SECONDS)
    with pytest.raises(Unavailable, match="cannot be reached"):
        await environment_for(asking_for("tool"), cache=cache, uv=uv)


async def test_a_full_disk_is_unavailable(tmp_path: Path, cache: Path, uv: UvSettings) -> None:
    binary = saying_uv(tmp_path, "error: Failed to install\n  cause: No space left on device (os error 28)", 2)
    with pytest.raises(Unavailable, match="The disk is full"):
        await environment_for(asking_for("tool"), cache=cache, uv=replace(uv, binary=binary))


async def test_endless_words_of_uv_are_bounded(tmp_path: Path, cache: Path, uv: UvSettings) -> None:
    binary = saying_uv(tmp_path, "error: No solution found" + " because\x1b[31m" * 9000, 1)
    with pytest.raises(UserError) as failed:
        await environment_for(asking_for("tool"), cache=cache, uv=replace(uv, binary=binary))
    assert len(failed.value.message) < 2000
    assert "\x1b" not in failed.value.message


async def test_a_missing_uv_is_unavailable(tmp_path: Path, cache: Path, uv: UvSettings) -> None:
    with pytest.raises(Unavailable, match="uv could not be started"):
        await environment_for(asking_for("tool"), cache=cache, uv=replace(uv, binary=tmp_path / "nowhere"))


async def test_a_cache_that_cannot_be_made_is_unavailable(tmp_path: Path, uv: UvSettings) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="could not be stored"):
        await environment_for(asking_for("tool"), cache=tmp_path / "file" / "cache", uv=uv)


async def test_a_stalled_installation_ends_at_its_deadline(tmp_path: Path, cache: Path, uv: UvSettings) -> None:
    binary = executable(tmp_path / "slow-uv", "exec sleep 60")
    with pytest.raises(Unavailable, match=r"not ready after 0\.5 seconds"):
        await environment_for(asking_for("tool"), cache=cache, uv=replace(uv, binary=binary, timeout_seconds=0.5))
    assert (finished(cache), half_built(cache)) == ([], [])


async def test_cancelling_ends_every_process_of_the_installation(tmp_path: Path, cache: Path, uv: UvSettings) -> None:
    binary, started, _release = stalled_uv(tmp_path)
    ended: list[str] = []

    async def build() -> None:
        await environment_for(asking_for("tool"), cache=cache, uv=replace(uv, binary=binary))

    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(build)
            with await anyio.to_thread.run_sync(started.open) as pipe:
                assert await anyio.to_thread.run_sync(pipe.readline) == "started\n"
                tasks.cancel_scope.cancel()
                # The pipe ends when the last process that inherited it has ended.
                with anyio.move_on_after(WAIT_SECONDS, shield=True):
                    ended.append(await anyio.to_thread.run_sync(pipe.read, abandon_on_cancel=True))
    assert ended == [""]
    assert (finished(cache), half_built(cache)) == ([], [])


# --- several at once ------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_tasks_asking_at_once_share_one_installation(tmp_path: Path, cache: Path, uv: UvSettings) -> None:
    binary, calls = counting_uv(tmp_path)
    built: list[Environment] = []

    async def build() -> None:
        built.append(await environment_for(asking_for("tool"), cache=cache, uv=replace(uv, binary=binary)))

    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(build)
    assert len(set(built)) == 1
    assert len(calls.read_text().splitlines()) == 1


@pytest.mark.slow
async def test_processes_asking_at_once_share_one_installation(tmp_path: Path, cache: Path, wheels: Path) -> None:
    binary, calls = counting_uv(tmp_path)
    command = [sys.executable, "-c", BUILD, str(cache), str(wheels), str(binary)]
    answers: list[bytes] = []

    async def build() -> None:
        answers.append((await anyio.run_process(command)).stdout)

    with anyio.fail_after(2 * WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(build)
    assert len(set(answers)) == 1
    assert len(calls.read_text().splitlines()) == 1
    assert half_built(cache) == []


@pytest.mark.slow
async def test_a_builder_killed_in_the_middle_leaves_nothing_that_is_taken_for_complete(
    tmp_path: Path, cache: Path, wheels: Path, uv: UvSettings
) -> None:
    binary, started, release = stalled_uv(tmp_path)
    command = [sys.executable, "-c", BUILD, str(cache), str(wheels), str(binary)]
    waiting = anyio.Event()
    built: list[Environment] = []

    def notice(text: str) -> None:
        if text.startswith("Waiting for another process"):
            waiting.set()

    async def build() -> None:
        built.append(await environment_for(asking_for("tool"), cache=cache, uv=uv, on_progress=notice))

    with anyio.fail_after(2 * WAIT_SECONDS):
        process = await anyio.open_process(command, stderr=subprocess.DEVNULL)
        async with process:
            with await anyio.to_thread.run_sync(started.open) as pipe:
                assert await anyio.to_thread.run_sync(pipe.readline) == "started\n"
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert finished(cache) == []
        assert len(half_built(cache)) == 1

        # The orphaned installer still owns its half-built folder, so the next builder waits for it.
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(build)
            await waiting.wait()
            assert built == []
            with await anyio.to_thread.run_sync(lambda: release.open("w")):
                pass
    assert finished(cache) == [built[0].key]
    assert half_built(cache) == []
    assert not list(built[0].path.rglob("half.py"))
