"""Code that tries, from within a branch, to reach its parent. Every program ends with the word it prints: held or not.

`PARENT` is what the parent holds: files, a raised flag, a counter in memory, an open descriptor. Each attack is a cell
of a branch; `LOOK` is a cell of the parent, and says the same before and after.
"""

from __future__ import annotations

from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell

PARENT = (
    "import os, signal, pathlib, time",
    """
pathlib.Path("kept.txt").write_text("the parent's own\\n" * 50)
pathlib.Path("/tmp/kept.txt").write_text("the parent's own")
pathlib.Path("/home/cell/kept.txt").write_text("the parent's own")
pathlib.Path("/dev/shm/kept.txt").write_text("the parent's own")
reading = open("kept.txt")
first = reading.readline()
appending = open("log.txt", "w+")
_ = appending.write("line one\\n")
appending.flush()
directory = os.open("/project", os.O_RDONLY)
caught = []
for _number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGALRM):
    _ = signal.signal(_number, lambda number, frame: caught.append(number))
held = bytearray(b"untouched" * 1000)
""".strip(),
)

LOOK = """
def _look():
    places = ("kept.txt", "log.txt", "/tmp/kept.txt", "/home/cell/kept.txt", "/dev/shm/kept.txt")
    told = [(os.stat(place).st_mode, os.stat(place).st_mtime_ns, pathlib.Path(place).read_text()) for place in places]
    offsets = [os.lseek(each, 0, os.SEEK_CUR) for each in (reading.fileno(), appending.fileno())]
    folders = [sorted(os.listdir(place)) for place in ("/project", "/tmp", "/home/cell", "/dev/shm", directory)]
    print(told, offsets, folders, caught, hash(bytes(held)) == hash(b"untouched" * 1000), os.getcwd(), os.nice(0))
_look()
""".strip()

_LEAVE = """
def leave():
    "The classic way out of a root: a deeper one, and up from where one stood."
    os.makedirs("/tmp/deeper", exist_ok=True)
    os.chroot("/tmp/deeper")
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
"""

_TRY = """
def tried(what):
    try:
        return what()
    except (OSError, ValueError) as error:
        return type(error).__name__
"""


def _outside(root: str) -> str:
    return f"""
root = {root}
for place in (root + folder + "/kept.txt" for folder in ("/project", "/tmp", "/dev/shm", "/home/cell")):
    tried(lambda: os.chmod(place, 0))
    tried(lambda: os.utime(place, (1, 1)))
    tried(lambda: os.truncate(place, 0))
    tried(lambda: pathlib.Path(place).write_text("taken"))
    tried(lambda: os.rename(place, place + ".moved"))
    tried(lambda: os.unlink(place))
    tried(lambda: os.mkfifo(place + ".pipe"))
    tried(lambda: os.mkdir(place + ".folder"))
    tried(lambda: os.symlink("/etc", place + ".link"))
    tried(lambda: os.link(place, place + ".name"))
"""


ATTACKS = {
    "signals to the parent": """
for number in (1, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
    for pid in (os.getppid(), 1, 2):
        tried(lambda: os.kill(pid, number))
        # The group 0 would be its own.
        tried(lambda: os.getpgid(pid) and os.killpg(os.getpgid(pid), number))
        tried(lambda: signal.pidfd_send_signal(os.pidfd_open(pid), number))
""",
    "signals to everybody": """
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        tried(lambda: os.kill(int(name), signal.SIGKILL))
""",
    "out of the root": _LEAVE + "tried(leave)\n" + _outside('""'),
    "out of the root by a descriptor": """
def out():
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    above = os.open("..", os.O_PATH | os.O_DIRECTORY, dir_fd=here)
    os.makedirs("/tmp/deeper", exist_ok=True)
    os.chroot("/tmp/deeper")
    for _ in range(64):
        above = os.open("..", os.O_PATH | os.O_DIRECTORY, dir_fd=here)
        tried(lambda: os.chmod(f"/proc/self/fd/{above}", 0o755))
        tried(lambda: os.fchmod(above, 0o755))
        os.fchdir(above)
        here = above
    os.chroot(".")
tried(out)
"""
    + _outside('""'),
    "the parent's root through proc": _outside('f"/proc/{os.getppid()}/root"')
    + _outside('"/proc/1/root"')
    + _outside('"/proc/2/cwd/.."'),
    "the places of branches": """
for place in ("/branches", "/.stage", "/.stage/inner/upper", *(f"/branches/{n}" for n in range(1, 25))):
    tried(lambda: os.listdir(place))
    tried(lambda: os.chmod(place, 0o777))
    tried(lambda: os.chroot(place))
    tried(lambda: os.chdir(place))
"""
    + _outside('"/branches/1"')
    + _outside('"/.stage/inner/upper"'),
    "what was open": """
for number in range(3, 64):
    tried(lambda: os.lseek(number, 3, os.SEEK_SET))
    tried(lambda: os.ftruncate(number, 0))
    tried(lambda: os.fchmod(number, 0))
for name in ("kept.txt", "log.txt"):
    tried(lambda: os.unlink(name, dir_fd=directory))
tried(lambda: os.fchdir(directory))
tried(lambda: os.open("taken", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
tried(lambda: reading.seek(17))
tried(lambda: appending.write("from the branch"))
tried(lambda: appending.flush())
""",
    "memory": """
import ctypes, mmap
shared = mmap.mmap(-1, mmap.PAGESIZE)
shared[:5] = b"taken"
held[:] = b"taken" * 1800
memory = f"/proc/{os.getppid()}/mem"
tried(lambda: open(memory, "r+b"))
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace(16, os.getppid(), 0, 0)
with open("kept.txt", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
    mapped[:5] = b"taken"
""",
    "everything of its own": """
import shutil
for place in ("/tmp", "/home/cell", "/dev/shm", "/project"):
    for name in os.listdir(place):
        path = f"{place}/{name}"
        tried(lambda: shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path))
os.environ.clear()
for number in (signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, signal.SIG_IGN)
os.nice(5)
os.umask(0o777)
""",
    "the mark it was born with": """
for pid in (os.getpid(), os.getppid()):
    for value in ("500", "1000", "0", "-1000"):
        tried(lambda: pathlib.Path(f"/proc/{pid}/oom_score_adj").write_text(value))
        tried(lambda: pathlib.Path(f"/proc/{pid}/comm").write_text("taken"))
""",
    "mounts and namespaces": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mount(b"none", b"/project", b"tmpfs", 0, None)
libc.umount2(b"/project", 2)
for flags in (0x00020000, 0x10000000, 0x20000000):
    libc.unshare(flags)
for name in ("mnt", "pid", "user", "net"):
    for pid in (1, 2, os.getppid()):
        descriptor = tried(lambda: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY))
        if isinstance(descriptor, int):
            libc.setns(descriptor, 0)
libc.pivot_root(b"/tmp", b"/tmp")
""",
    "a link out of the project": """
os.symlink("/".join(["", "proc", str(os.getppid()), "root", "project", "kept.txt"]), "/project/way-out")
tried(lambda: pathlib.Path("/project/way-out").write_text("taken"))
os.symlink("/../../../project", "/tmp/up")
tried(lambda: pathlib.Path("/tmp/up/kept.txt").write_text("taken"))
""",
}


def attack(name: str) -> str:
    """A cell that carries it out, and prints that it came to its end."""
    body = _TRY + ATTACKS[name] + "print('came to the end')\n"
    return "def _():\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "_()"


async def try_attack(notebook: OpenNotebook, name: str) -> Observation:
    """What a branch says that tried it."""
    async with notebook.branch() as branch:
        return await branch.apply([CreateCell(code=attack(name))], cell_seconds=60)


async def state_of(notebook: OpenNotebook) -> tuple[str, ...]:
    """What the parent says of itself, and which of its files changed."""
    looked = await notebook.run([notebook.document.cells[-1].id], cell_seconds=60)
    files = sorted(f"{change.kind} {change.path} {change.bytes}" for change in await notebook.changed_files())
    told = (looked.kernel_end, looked.problem, [(cell.status, cell.error, cell.console) for cell in looked.cells])
    return (*map(str, told), *files)
