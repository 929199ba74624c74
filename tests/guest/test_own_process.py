"""Whose a native thread is: stacks of both processors word by word, and real threads under each Python that is here."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from cellwright_guest.forks.own_process import MemoryMapping as Mapped
from cellwright_guest.forks.own_process import ThreadStacks
from cellwright_guest.report_wire import UNKNOWN

EXECUTABLE = (0x41F000, "/usr/bin/python3.11")
BINNING = (0xFFFF_8000_0000, "/site/sklearn/_binning.cpython-311-aarch64-linux-gnu.so")
OPENMP = (0xFFFF_8100_0000, "/site/scikit_learn.libs/libgomp-947d5fa1.so.1.0.0")
LIBC = (0xFFFF_8200_0000, "/usr/lib/aarch64-linux-gnu/libc.so.6")
HIGH = (0xF_FFFF_8000_0000, "/site/libhigh.so")
STACK = 0xFFFF_9000_0000
SIZE = 0x10000


@pytest.fixture
def memory() -> Iterator[int]:
    """A sparse file: a word lies at the same offset as in a real address space."""
    made = os.memfd_create("address space")
    yield made
    os.close(made)


def owner(memory: int, words: Sequence[int], machine: str, code: Mapping[int, bytes] | None = None) -> str:
    """The owner of a stack that begins with these words; `code` is bytes that lie elsewhere."""
    libraries = [Mapped(start, start + SIZE, "r-xp", path, False) for start, path in (EXECUTABLE, BINNING, OPENMP)]
    libraries += [Mapped(start, start + SIZE, "r-xp", path, False) for start, path in (LIBC, HIGH)]
    stack = Mapped(STACK, STACK + 8 * len(words), "rw-p", "", False)
    os.pwrite(memory, struct.pack(f"={len(words)}Q", *words), STACK)
    for address, content in (code or {}).items():
        os.pwrite(memory, content, address)
    mappings = sorted([*libraries, stack])
    return ThreadStacks(mappings, memory, machine).owner(stack_pointer=STACK)


def frame_chain(*returns: int, padding: Sequence[int] = (0, 0)) -> list[int]:
    """Words of frames with a record each, as aarch64 lays them: the next record's address, the return address."""
    words: list[int] = []
    for index, back in enumerate(returns):
        is_base = index == len(returns) - 1
        after = 0 if is_base else STACK + 8 * (len(words) + 2 + len(padding))
        words += [after, back, *padding]
    return words


THREAD = (LIBC[0] + 0x80, OPENMP[0] + 0x1A0, LIBC[0] + 0x200, LIBC[0] + 0x300)
"""Return addresses of an OpenMP thread that waits: a futex call, libgomp's loop, `start_thread`, `clone`."""
LOCALS = [BINNING[0] + 0x40, EXECUTABLE[0] + 0x123]
"""Above the base: thread-local data that points at code, and a number which a non-PIE Python's code covers."""


def test_frame_records_lead_past_thread_local_data_to_the_owner(memory: int) -> None:
    assert owner(memory, [*frame_chain(*THREAD), *LOCALS], "aarch64") == "libgomp"


def test_numbers_inside_the_frames_are_not_taken_for_code(memory: int) -> None:
    number = EXECUTABLE[0] + 0x2000
    assert owner(memory, frame_chain(*THREAD, padding=(number, number)), "aarch64") == "libgomp"


@pytest.mark.parametrize("bits", [48, 52])
def test_signed_return_addresses_are_read_without_their_signature(memory: int, bits: int) -> None:
    """Pointer authentication signs bits 54 down to the address's width, and 63 to 56; bit 55 stays."""
    signature = 0xFF7F_FFFF_FFFF_FFFF & ~((1 << bits) - 1)
    for pattern in (0xA5A5_A5A5_A5A5_A5A5, 0xFFFF_FFFF_FFFF_FFFF):
        signed = [address | (signature & pattern) for address in THREAD]
        assert owner(memory, [*frame_chain(*signed), *LOCALS], "aarch64") == "libgomp"


def test_an_address_of_more_than_48_bits_keeps_them(memory: int) -> None:
    beyond = (LIBC[0], HIGH[0] + 0x80, LIBC[0] + 0x200, LIBC[0] + 0x300)
    assert owner(memory, frame_chain(*beyond), "aarch64") == "libhigh"
    assert owner(memory, frame_chain(*(address | 0xA530 << 48 for address in beyond)), "aarch64") == "libhigh"


def test_the_first_record_is_found_above_words_that_are_none(memory: int) -> None:
    chain = [word + 8 * 6 if word > STACK and word < STACK + 4096 else word for word in frame_chain(*THREAD)]
    assert owner(memory, [7, 0, STACK, LIBC[0] + 8, 0, 3, *chain], "aarch64") == "libgomp"


def test_a_library_without_frame_records_is_found_below_the_last_record(memory: int) -> None:
    rust = [0, OPENMP[0] + 0x500, 0, 0]
    base = frame_chain(*THREAD[2:])
    chain = [word + 8 * len(rust) if STACK < word < STACK + 4096 else word for word in base]
    assert owner(memory, [*rust, *chain, *LOCALS], "aarch64") == "libgomp"


def test_a_stack_without_any_chain_is_nobodys_on_aarch64(memory: int) -> None:
    assert owner(memory, [OPENMP[0] + 8, 1, LIBC[0] + 8, 1, *LOCALS], "aarch64") == UNKNOWN


def test_on_x86_64_a_number_in_a_non_pie_pythons_range_is_no_frame(memory: int) -> None:
    number = EXECUTABLE[0] + 0x2000
    words = [LIBC[0], OPENMP[0] + 0x1A0, number, LIBC[0] + 0x200, LIBC[0] + 0x300, 0]
    record = STACK + 8 * len(words)
    assert owner(memory, [*words, record, 0, record, *LOCALS], "x86_64") == "libgomp"


@pytest.mark.parametrize("call", ["e8 10 20 30 00", "ff d0", "41 ff d5", "ff 55 10", "ff 15 00 10 20 00"])
def test_on_x86_64_what_a_call_returns_to_is_a_frame_of_a_non_pie_python(memory: int, call: str) -> None:
    back = EXECUTABLE[0] + 0x2000
    code = bytes.fromhex(call)
    words = [LIBC[0], OPENMP[0] + 0x1A0, back, LIBC[0] + 0x200, 0, 0]
    record = STACK + 8 * len(words)
    assert owner(memory, [*words, record, 0, record], "x86_64", {back - len(code): code}) == "python3.11"


_THREADS = """
import json, os, sys
os.environ.update(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
sys.path[:0] = sys.argv[1:]
import numpy, pyarrow, duckdb
block = numpy.ones((1200, 1200))
(block @ block).sum()
pyarrow.table({"a": list(range(100_000))}).group_by("a").aggregate([("a", "sum")])
duckdb.sql("select sum(i) from range(3000000) t(i)").fetchall()
from sklearn.ensemble import HistGradientBoostingClassifier
HistGradientBoostingClassifier(max_iter=2).fit(block[:500, :4], [0, 1] * 250)
from cellwright_guest.forks import own_process
threads = {int(name) for name in os.listdir("/proc/self/task")} - {os.getpid()}
print(json.dumps(sorted(set(own_process.thread_owners(threads, own_process.memory_map()).values()))))
"""


def _pythons() -> list[str]:
    """This one, and a distribution's of the same version, which may be linked to fixed addresses (Debian's is)."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    distributions = Path(f"/usr/bin/python{version}")
    return [sys.executable, *([str(distributions)] if distributions.exists() else [])]


@pytest.mark.slow
@pytest.mark.parametrize("python", _pythons())
def test_threads_of_real_libraries_are_told_under_each_python_here(python: str) -> None:
    source = Path(__file__).parents[2] / "src"
    [packages] = [entry for entry in sys.path if entry.endswith("site-packages")]
    ended = subprocess.run(
        [python, "-B", "-c", _THREADS, str(source), packages], capture_output=True, text=True, check=True, timeout=280
    )
    told = set(json.loads(ended.stdout))
    assert told >= {"_duckdb", "libarrow", "libgomp"}
    assert not {name for name in told if name.startswith("python") or name == UNKNOWN}
