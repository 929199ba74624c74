"""What a program inside a cage is, sees and can reach."""

from __future__ import annotations

import json
import platform
import signal
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.errors import Unavailable
from cellwright.sandbox.linux.syscalls import NEWEST, number
from tests.sandbox.conftest import CageStarter

SHOW = "import json, os\ndef show(value): print(json.dumps(value))\n"


async def ask(starter: CageStarter, expression: str, **changes: object) -> object:
    return json.loads(await starter.run(f"{SHOW}show({expression})", **changes))


async def test_the_kernel_is_an_unprivileged_user_in_its_own_project(starter: CageStarter) -> None:
    starter.write("a.txt", "hi")
    seen = await ask(starter, "[os.getuid(), os.getgid(), os.getcwd(), sorted(os.listdir('.')), os.uname().nodename]")
    assert seen == [1000, 1000, "/project", ["a.txt"], "cell"]


async def test_the_kernel_is_never_process_one_and_sees_no_others(starter: CageStarter) -> None:
    assert await ask(starter, "[os.getpid() > 1, sorted(n for n in os.listdir('/proc') if n.isdigit())]") == [
        True,
        ["1", "2"],
    ]


async def test_only_the_kernels_socket_is_open(starter: CageStarter) -> None:
    program = SHOW + "fd = os.open('/proc/self/fd', os.O_RDONLY)\nshow([fd, sorted(map(int, os.listdir(fd)))])"
    listing, found = json.loads(await starter.run(program))
    assert set(found) <= {0, 1, 2, 3, listing, listing + 1}


async def test_the_environment_is_the_given_one_and_nothing_else(starter: CageStarter) -> None:
    seen = await ask(starter, "dict(os.environ)", environment={"HOME": "/home/cell"})
    assert seen == {"HOME": "/home/cell", "CELLWRIGHT_PROJECT": "/project"}


async def test_one_capability_is_left_and_nothing_can_be_gained(starter: CageStarter) -> None:
    status = await starter.run("print(open('/proc/self/status').read())")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    chroot_only = f"{1 << 18:016x}"
    assert {name: fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {
        "CapInh": "0" * 16,
        "CapPrm": chroot_only,
        "CapEff": chroot_only,
        "CapBnd": chroot_only,
        "CapAmb": "0" * 16,
    }
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")


async def test_the_root_is_small_and_read_only(starter: CageStarter) -> None:
    top = {Path(path).parts[1] for path in starter.spec.software}
    seen = set((await starter.run("import os\nprint(*os.listdir('/'))")).split())
    assert seen - top <= {
        "bin", "branches", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32",
        "proc", "project", "sbin", "tmp", "usr", ".mask", ".stage",
    }  # fmt: skip
    for program in (
        "os.listdir('/.stage')",
        "os.chdir('/.stage')",
        "os.chmod('/.stage', 0o700)",
        "os.listdir('/branches')",
    ):
        result = await _result(starter, f"import os\n{program}")
        assert "Error" in str(result["error"]), program
    for place in ("/x", "/usr/x", "/etc/x", "/branches/../x", f"{starter.spec.software[0]}/x"):
        result = await _result(starter, f"open({place!r}, 'w')")
        assert "Error" in str(result["error"]), place


async def _result(starter: CageStarter, program: str, **changes: Any) -> dict[str, object]:
    async with starter.zygote.cage(replace(starter.spec, **changes), program) as cage:
        return await cage.result()


async def test_scratch_places_are_writable(starter: CageStarter) -> None:
    program = "\n".join(
        f"open('{place}/x', 'w').write('1')" for place in ("/tmp", "/home/cell", "/dev/shm", "/project")
    )
    assert await starter.run(program + "\nprint(open('/tmp/x').read())") == "1\n"


async def test_ordinary_libraries_work(starter: CageStarter) -> None:
    program = """
import subprocess, threading, tempfile, multiprocessing, concurrent.futures, ssl, socket
assert subprocess.run(['sh', '-c', 'echo hi'], capture_output=True, check=True).stdout == b'hi\\n'
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
tempfile.NamedTemporaryFile().close()
with multiprocessing.get_context('fork').Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    assert list(pool.map(abs, [-1])) == [1]
left, right = socket.socketpair()
import asyncio
asyncio.run(asyncio.sleep(0))
print('fine')
"""
    assert await starter.run(program) == "fine\n"


async def test_the_host_network_is_out_of_reach(starter: CageStarter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = await _result(starter, f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)")
    assert "PermissionError" in str(result["error"])


@pytest.mark.parametrize(
    "call",
    [
        "libc.unshare(0x10000000)",
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "libc.ptrace(16, 1, 0, 0)",
        "libc.syscall(425, 8, 0)",
        f"libc.syscall({number('keyctl')}, 0, 0, 0)",
        f"libc.syscall({number('clone')}, 0x10000000 | 17, 0, 0, 0, 0)",
        f"libc.syscall({number('clone3')}, 0, 0)",
        "libc.chmod(b'/tmp', 0o4755)",
        "libc.open(b'/tmp/suid', 0o101, 0o4755)",
        "libc.socket(2, 1, 0)",
        "libc.socket(16, 3, 0)",
        "libc.setresuid(0, 0, 0)",
        "libc.kill(1, 9) or -1",
    ],
)
async def test_dangerous_calls_fail(starter: CageStarter, call: str) -> None:
    program = f"import ctypes\nlibc = ctypes.CDLL(None)\nprint({call})"
    assert await starter.run(program) == "-1\n"


async def test_a_system_call_newer_than_our_list_is_not_there(starter: CageStarter) -> None:
    program = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def answer(number):
    return libc.syscall(number, -1, -1, -1, -1) and errno.errorcode[ctypes.get_errno()]
print([answer(number) for number in ({number("file_setattr")}, {NEWEST + 1}, {NEWEST + 100})])
"""
    assert await starter.run(program) == "['ENOSYS', 'ENOSYS', 'ENOSYS']\n"


async def test_the_other_abi_of_the_processor_ends_the_process(starter: CageStarter) -> None:
    """int 0x80 on x86_64 speaks the 32-bit table, which the filter does not know; elsewhere it is no instruction.

    A kernel without that table has no entry for it: the processor's own fault ends the process.
    """
    expected = {signal.SIGSYS, signal.SIGSEGV} if platform.machine() == "x86_64" else {signal.SIGILL}
    program = """
import ctypes, mmap, os
code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b814000000cd80c3'))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
pid = os.fork()
if pid == 0:
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    os._exit(0)
print(os.WTERMSIG(os.waitpid(pid, 0)[1]))
"""
    assert int(await starter.run(program)) in expected


async def test_the_kernel_may_enter_a_root_of_its_own(starter: CageStarter) -> None:
    program = """
import os
os.mkdir('/tmp/r')
open('/tmp/r/x', 'w').close()
os.chroot('/tmp/r')
os.chdir('/')
print(os.listdir('/'))
"""
    assert await starter.run(program) == "['x']\n"


async def test_an_interrupt_reaches_the_kernel(starter: CageStarter) -> None:
    program = "import signal\nkernel.send(b'.')\nsignal.pause()"
    async with starter.zygote.cage(starter.spec, program) as cage:
        await anyio.to_thread.run_sync(cage.kernel.recv, 1)
        await cage.control.interrupt()
        assert "KeyboardInterrupt" in str((await cage.result())["error"])


async def test_the_host_learns_how_the_kernel_ended(starter: CageStarter) -> None:
    async with starter.zygote.cage(starter.spec, "import os\nos._exit(7)") as cage:
        end = await cage.control.wait_kernel()
        assert (end.exit_code, end.signal, end.limit) == (7, None, None)
        cage.control.close()
        assert await starter.zygote.ended(cage) == 7
    async with starter.zygote.cage(starter.spec, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)") as cage:
        end = await cage.control.wait_kernel()
        assert (end.exit_code, end.signal, end.limit) == (None, 11, None)


async def test_a_cage_that_cannot_start_says_why(starter: CageStarter) -> None:
    async with starter.zygote.cage(replace(starter.spec, cwd="/project/nowhere")) as cage:
        with anyio.fail_after(120), pytest.raises(Unavailable, match="nowhere"):
            await cage.control.wait_started()


async def test_proc_holds_no_keys_and_no_boot_line(starter: CageStarter) -> None:
    for name in ("keys", "cmdline", "timer_list"):
        error = str((await _result(starter, f"open('/proc/{name}').read()"))["error"])
        assert "PermissionError" in error or "FileNotFoundError" in error
    assert "PermissionError" in str((await _result(starter, "open('/proc/sys/kernel/hostname', 'w')"))["error"])
