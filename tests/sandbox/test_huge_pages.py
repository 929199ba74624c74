"""A zygote's memory in huge pages: the same bytes, fewer pages."""

from __future__ import annotations

import subprocess
import sys

from cellwright.sandbox.linux.huge_pages import huge_page_bytes

_PROGRAM = """
import os, re
from cellwright.sandbox.linux import huge_pages

held = [os.urandom(1 << 20) for _ in range(16)]
before = [hash(block) for block in held]
gathered = huge_pages.gather()
told = open("/proc/self/smaps_rollup").read()
huge_kb = int(re.search(r"AnonHugePages:\\s+(\\d+)", told)[1])
assert [hash(bytes(bytearray(block))) for block in held] == before
child = os.fork()
if child == 0:
    assert [hash(bytes(bytearray(block))) for block in held] == before
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(gathered, huge_kb)
"""


def test_gathered_memory_keeps_its_bytes_here_and_in_a_fork() -> None:
    said = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True).stdout
    gathered, huge_kb = map(int, said.split())
    # A machine without huge pages gathers none, and works.
    assert huge_kb * 1024 >= gathered * (huge_page_bytes() or 0) or gathered == 0
