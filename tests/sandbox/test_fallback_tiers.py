"""Tiers C and D: no namespaces, a filtered copy of the project, Landlock and seccomp or limits alone.

Once truly without user namespaces (in a parent that has none left to give), once forced, as root in a container would.
"""

from __future__ import annotations

import json
import os
import select
import socket
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from cellwright.sandbox.host.file_changes import KeepReport
from cellwright.sandbox.spec import DataMount, Limits
from cellwright.tools.actions.worker_process import command as action_command
from tests.sandbox.conftest import WEAK_USERS, Cage, CageStarter, CageStarterFor, User
from tests.sandbox.test_endings import DAEMON


@pytest.fixture(params=WEAK_USERS)
def weak(request: pytest.FixtureRequest, starter_for: CageStarterFor) -> CageStarter:
    return starter_for(request.param)


async def error_of(starter: CageStarter, program: str) -> str:
    async with starter.zygote.cage(starter.spec, program) as cage:
        return str((await cage.result())["error"])


async def test_a_real_cage_cannot_start_where_namespaces_are_used_up(starter_for: CageStarterFor) -> None:
    starter = starter_for("plain without namespaces")
    with pytest.raises(OSError, match="clone"):
        await starter.zygote.start(replace(starter.spec, tier="B"))


@pytest.mark.slow
async def test_the_notebook_works_on_a_copy_and_its_changes_are_kept(weak: CageStarter) -> None:
    for path in ("changed.txt", "gone.txt", "old/a", "same.txt"):
        weak.write(path, path)
    program = """
import os, shutil
open('changed.txt', 'a').write('+')
os.makedirs('deep'); open('deep/x', 'w').write('x')
os.remove('gone.txt'); shutil.rmtree('old')
"""
    async with weak.zygote.cage(weak.spec, program) as cage:
        await cage.output()
        assert (weak.project / "changed.txt").read_text() == "changed.txt"
        report = await cage.control.keep(weak.project)
    # What is deleted goes last: whoever is killed before that has both, and not neither.
    assert report == KeepReport(kept=("changed.txt", "deep", "deep/x", "old/a", "old", "gone.txt"), refused=())
    left = sorted(str(path.relative_to(weak.project)) for path in weak.project.rglob("*"))
    assert left == ["changed.txt", "deep", "deep/x", "same.txt"]
    assert (weak.project / "changed.txt").read_text() == "changed.txt+"


@pytest.mark.parametrize("user", WEAK_USERS)
async def test_a_desktops_threads_leave_the_notebook_its_own(starter_for: CageStarterFor, user: User) -> None:
    """Without a user namespace the system counts all that the user has."""
    starter = starter_for(user)
    others = (
        "import threading, time\nfor _ in range(60): threading.Thread(target=time.sleep, args=(1000,)).start()\nprint()"
    )
    mine = """
import threading
held, done = [], threading.Event()
try:
    while len(held) < 100:
        held.append(threading.Thread(target=done.wait)); held[-1].start()
except RuntimeError:
    pass
done.set()
print(len(held))
"""
    spec = replace(starter.spec, limits=Limits(processes=80))
    async with starter.zygote.cage(spec, others) as desktop:
        await desktop.output()
        # Others may end meanwhile, and leave more.
        assert int(await starter.run(mine, limits=Limits(processes=50))) >= 40


async def test_hidden_files_are_not_in_the_copy_and_the_repository_is_read_only(weak: CageStarter) -> None:
    weak.write(".env", "secret")
    weak.write(".git/config", "ours")
    program = """
import os, json
print(json.dumps([sorted(os.listdir('.')), open('.git/config').read()]))
try: open('.git/config', 'w')
except OSError as error: print(error.strerror)
try: open('.git/hooks', 'w')
except OSError as error: print(error.strerror)
"""
    first, *rest = (await weak.run(program, hidden=(".env",))).splitlines()
    assert json.loads(first) == [[".git"], "ours"]
    assert rest == ["Permission denied"] * 2


async def test_a_protected_file_is_readable_and_never_kept(weak: CageStarter) -> None:
    weak.write("sub/nb.py", "ours")
    weak.write("sub/other.py", "ours")
    program = """
import os
print(open('sub/nb.py').read())
try: open('sub/nb.py', 'w')
except OSError as error: print(error.strerror)
os.remove('sub/nb.py')
open('sub/nb.py', 'w').write('theirs')
open('sub/other.py', 'w').write('theirs')
"""
    async with weak.zygote.cage(replace(weak.spec, protected=(".git", "sub/nb.py")), program) as cage:
        assert await cage.output() == "ours\nPermission denied\n"
        assert (await cage.control.keep(weak.project)).kept == ("sub/other.py",)
    assert (weak.project / "sub" / "nb.py").read_text() == "ours"


@pytest.mark.slow
async def test_other_files_networks_and_processes_are_out_of_reach(weak: CageStarter) -> None:
    secret = weak.project.parent / f"{weak.project.name}-secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    try:
        with socket.socket(socket.AF_UNIX) as server, socket.create_server(("127.0.0.1", 0)) as inet:
            path, port = f"{weak.project}/socket", inet.getsockname()[1]
            server.bind(path)
            (weak.project / "socket").chmod(0o777)
            server.listen()
            attempts = {
                f"open({str(secret)!r})": "PermissionError",
                f"open({str(weak.project / 'socket')!r})": "PermissionError",
                f"import socket\nsocket.socket(socket.AF_UNIX).connect({path!r})": "PermissionError",
                f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)": "PermissionError",
                "import socket\nsocket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)": "PermissionError",
                "import os\nos.memfd_create('x')": "not implemented",
                "open('/dev/shm/x', 'w')": "PermissionError",
                "open('/tmp/x', 'w')": "PermissionError",
                f"import os\nos.kill({os.getpid()}, 0)": "Error",
                f"open('/proc/{os.getpid()}/environ').read()": "PermissionError",
            }
            for attempt, expected in attempts.items():
                assert expected in await error_of(weak, attempt), attempt
    finally:
        secret.unlink()


async def test_ordinary_work_is_possible(weak: CageStarter) -> None:
    program = """
import subprocess, tempfile, threading, os
assert subprocess.run(['sh', '-c', 'echo hi'], capture_output=True, check=True).stdout == b'hi\\n'
tempfile.NamedTemporaryFile().close()
open(os.path.expanduser('~/x'), 'w').close()
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
print(os.getcwd() == os.environ['CELLWRIGHT_PROJECT'])
"""
    assert await weak.run(program) == "True\n"


async def test_an_agents_program_is_loaded_although_the_directory_above_it_cannot_be_listed(weak: CageStarter) -> None:
    *command, monty, client, version = action_command()
    program = f"""
import subprocess
print(subprocess.run({[*command, monty, client, version]!r}, capture_output=True, text=True).stderr)
"""
    software = (*weak.spec.software, str(Path(command[-1]).parent), client)
    said = await weak.run(program, software=software)
    # It got as far as its own loop, which has nobody to speak to here.
    assert "serve" in said and "ModuleNotFoundError" not in said, said


async def test_a_program_that_is_a_plain_file_nobody_may_execute_is_software_too(weak: CageStarter) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "drawing.py"
        program.parent.chmod(0o755)
        program.write_text("drawn = True\n")
        # As most of what an interpreter reads: nobody may execute it.
        program.chmod(0o644)
        spec = replace(weak.spec, software=(*weak.spec.software, str(program)))
        async with weak.zygote.cage(spec, f"print(open({str(program)!r}).read())") as cage:
            assert await cage.output() == "drawn = True\n\n"


async def test_data_only_root_may_read_is_readable_for_the_notebook_root_started(starter_for: CageStarterFor) -> None:
    starter = starter_for(WEAK_USERS[-1])
    with tempfile.TemporaryDirectory() as closed:
        data = Path(closed) / "sales.csv"
        data.write_text("1,2")
        data.chmod(0o600)
        if not starter.user.startswith("root"):
            data.parent.chmod(0o755)
            data.chmod(0o644)
        mounts = (DataMount(source=str(data), target="data/sales.csv"),)
        program = """
print(open('data/sales.csv').read())
try: open('data/sales.csv', 'w')
except OSError as error: print(error.strerror)
"""
        assert await starter.run(program, data=mounts) == "1,2\nPermission denied\n"
        assert data.read_text() == "1,2"


async def test_what_is_left_out_is_not_in_the_copy(weak: CageStarter) -> None:
    for path in (".venv/lib/x", "kept/a", "kept/big"):
        weak.write(path)
    program = "import os\nprint(sorted(os.path.join(*step[:1], name) for step in os.walk('.') for name in step[2]))"
    assert await weak.run(program, left_out=(".venv", "kept/big")) == "['./kept/a']\n"


async def test_data_covers_what_the_project_has_in_its_place_and_leaves_it_as_it_is(weak: CageStarter) -> None:
    for path in ("data/sales.csv", "data/other.csv"):
        weak.write(path, path)
    data = weak.write("newer.csv", "1,2")
    mounts = (DataMount(source=str(data), target="data/sales.csv"),)
    program = "print(open('data/sales.csv').read(), open('data/other.csv').read())"
    async with weak.zygote.cage(replace(weak.spec, data=mounts), program) as cage:
        assert await cage.output() == "1,2 data/other.csv\n"
        with anyio.fail_after(120):
            assert await cage.control.changes() == ()
    assert (weak.project / "data" / "sales.csv").read_text() == "data/sales.csv"


async def test_data_is_readable_at_its_place(weak: CageStarter) -> None:
    data = weak.project.parent / f"{weak.project.name}.csv"
    data.write_text("1,2")
    data.chmod(0o644)
    try:
        mounts = (DataMount(source=str(data), target="data/sales.csv"),)
        async with weak.zygote.cage(replace(weak.spec, data=mounts), "print(open('data/sales.csv').read())") as cage:
            assert await cage.output() == "1,2\n"
            assert [change.path for change in await cage.control.changes()] == []
    finally:
        data.unlink()


async def test_direct_access_is_refused(weak: CageStarter) -> None:
    with pytest.raises(OSError, match="Direct file access"):
        await weak.zygote.start(replace(weak.spec, files="direct"))


def alive(marker: str) -> list[str]:
    """Processes that were started with the marker as an argument."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker in (entry / "cmdline").read_text():
                    found.append(entry.name)
            except OSError:
                continue
    return found


def daemon(marker: str) -> str:
    """Two daemons that ignore everything and carry the marker in their command line."""
    return f"""
import os, subprocess, signal
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        signal.signal(15, signal.SIG_IGN)
        if os.fork() == 0:
            os.execv('/bin/sleep', ['{marker}', '1000'])
        os._exit(0)
for _ in range(2): os.wait()
"""


async def gone(cage: Cage) -> None:
    poll = select.poll()
    poll.register(cage.pidfd, select.POLLIN)
    assert await anyio.to_thread.run_sync(poll.poll, 20_000)


async def test_the_kill_handle_takes_daemons_too(weak: CageStarter) -> None:
    marker = f"marker-{weak.project.name}"
    async with weak.zygote.cage(weak.spec, daemon(marker)) as cage:
        await cage.output()
        cage.kill()
        assert await weak.zygote.ended(cage) == -9
        assert alive(marker) == []


async def test_daemons_end_with_their_kernel(weak: CageStarter) -> None:
    marker = f"marker-{weak.project.name}"
    async with weak.zygote.cage(weak.spec, daemon(marker) + "os._exit(3)") as cage:
        with anyio.fail_after(120):
            assert (await cage.control.wait_kernel()).exit_code == 3
        assert alive(marker) == []


async def test_nothing_survives_a_killed_zygote(weak: CageStarter) -> None:
    marker = f"marker-{weak.project.name}"
    cage = await weak.zygote.start(weak.spec, daemon(marker))
    await cage.output()
    weak.zygote.process.kill()
    await gone(cage)
    assert alive(marker) == []
    assert private_directories(weak.zygote.process.pid) == []
    cage.close()


def traces(zygote: int) -> tuple[int, str, list[Path]]:
    children = Path(f"/proc/{zygote}/task/{zygote}/children").read_text()
    return len(list(Path(f"/proc/{zygote}/fd").iterdir())), children, private_directories(zygote)


def private_directories(zygote: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"cellwright-cage-{zygote}-*"))


@pytest.mark.slow
async def test_cages_leave_nothing_behind(weak: CageStarter) -> None:
    zygote = weak.zygote.process.pid
    async with weak.zygote.cage(weak.spec, "") as cage:
        await cage.output()
    before = traces(zygote)
    for number in range(10):
        async with weak.zygote.cage(
            weak.spec, DAEMON if number % 5 == 0 else "import os\nos.mkdir('d', 0o000)"
        ) as cage:
            directory = (await cage.result())["out"]
            assert directory == ""
    assert traces(zygote) == before


@pytest.mark.slow
async def test_limits_hold(weak: CageStarter) -> None:
    async def limit(program: str, **limits: Any) -> str | None:
        spec = replace(weak.spec, limits=replace(Limits(), **limits))
        async with weak.zygote.cage(spec, program) as cage:
            with anyio.fail_after(120):
                return (await cage.control.wait_kernel()).limit

    assert await limit("while True: pass", cpu_seconds=0.5) == "cpu"
    fill = "n = 0\nwhile True:\n    open(f'f{n}', 'wb').write(bytes(1 << 20)); n += 1"
    assert await limit(fill, disk_mb=20, tmp_mb=1) == "disk"
    assert await limit("n = 0\nwhile True:\n    open(f'f{n}', 'wb'); n += 1", inodes=200) == "inodes"


@pytest.mark.slow
async def test_tier_d_runs_with_limits_only(weak: CageStarter) -> None:
    weak.write("a.txt", "a")
    program = "import os, socket\nsocket.socket().close()\nopen('a.txt', 'w').write('b')\nprint(os.listdir('.'))"
    async with weak.zygote.cage(replace(weak.spec, tier="D"), program) as cage:
        assert await cage.output() == "['a.txt']\n"
        assert [change.path for change in await cage.control.changes()] == ["a.txt"]
    assert (weak.project / "a.txt").read_text() == "a"
