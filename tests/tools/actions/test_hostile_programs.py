"""Programs that want more than tools: none gets it, each ends as a value, and the next one runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from cellwright.tools.actions.steps import ProgramFailed, ProgramFinished, ProgramLimits, ProgramStep

from .conftest import Studio

LIMITS = ProgramLimits(seconds=1, memory_mb=32, tool_calls=20, output_bytes=20_000)
OUTSIDE = "root:"
"""What the host's password file begins with; the cage's own does not have it."""

REFUSED = {
    "read a file": "open('/etc/passwd').read()",
    "read a file by path": "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "write a file": "open('/tmp/x', 'w').write('x')",
    "list the root": "import os\nos.listdir('/')",
    "walk up": "from pathlib import Path\nPath('../../../etc/shadow').read_bytes()",
    "read its environment": "import os\ndict(os.environ)",
    "read one variable": "import os\nos.getenv('PATH', os.environ['HOME'])",
    "read its memory": "open('/proc/self/mem', 'rb').read(10)",
    "read its starter's environment": "open('/proc/1/environ').read()",
    "the monty binary": "open('/proc/self/exe', 'rb').read(4)",
    "change directory and read": "import os\nos.chdir('/etc')\nopen('passwd').read()",
    "a socket": "import socket\nsocket.create_connection(('127.0.0.1', 22))",
    "a subprocess": "import subprocess\nsubprocess.run(['id'])",
    "os.system": "import os\nos.system('id')",
    "ctypes": "import ctypes\nctypes.CDLL(None).getpid()",
    "loaded modules": "import sys\nsys.modules['os'].system('id')",
    "the import system": "import importlib\nimportlib.import_module('os')",
    "__import__": "__import__('subprocess').run('id')",
    "builtins": "__builtins__['open']('/etc/passwd')",
    "builtins module": "import builtins\nbuiltins.open('/etc/passwd')",
    "subclasses of object": "().__class__.__bases__[0].__subclasses__()",
    "a function's globals": "(lambda: 0).__globals__['__builtins__']",
    "a function's code": "(lambda: 0).__code__.co_consts",
    "a generator's frame": "(x for x in [1]).gi_frame.f_back.f_globals",
    "a traceback's frame": "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_globals",
    "a module's modules": "import json\njson.codecs.builtins.open('/etc/passwd')",
    "a module's sys": "import re\nre.enum.sys.modules",
    "format to attributes": "'{0.__class__.__mro__[1].__subclasses__}'.format(1)",
    "a tool's function": "look.__globals__",
    "a tool's class": "look.__class__.__mro__[1].__subclasses__()",
    "a coroutine's frame": "look('a').cr_frame.f_globals",
    "an object's dictionary": "class A:\n    pass\nA().__class__.__dict__['__module__'].__class__",
    "a pickle": "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"id\"\\ntR.')",
    "a marshalled code object": "import marshal\nmarshal.loads(b'')",
    "JavaScript, as elsewhere": "import js\njs.process.env",
    "exec to escape": "exec('import os; os.system(\"id\")', {'__builtins__': __builtins__})",
    "eval to escape": "eval('().__class__')",
    "compile": "exec(compile('1', '', 'exec'))",
    "wide letters": "ｏｐｅｎ('/etc/passwd').read()",
    "letters from right to left": "x = '\u202e'\nopen('\u202e/etc/passwd').read()",
    "a relative import": "from .. import loop",
    "our own code": "from inside import loop",
    "our package": "import cellwright",
    "an encoding that is code": "# -*- coding: raw_unicode_escape -*-\n\\u006fpen('/etc/passwd').read()",
}

BOMBS = {
    "memory": "x = ['a' * 1000]\nwhile True: x += x",
    "strings": "x = 'a'\nwhile True: x = x + x",
    "numbers": "x = 10\nwhile True: x = x * x",
    "a power": "9 ** 9 ** 9",
    "a shift": "1 << (1 << 40)",
    "digits of a number": "str(10 ** 3000000)",
    "an int of digits": "int('9' * 3000000)",
    "padding": "'{:>1000000000}'.format(1)",
    "an f-string's width": "w = 10**10\nf'{1:{w}}'",
    "a range as a list": "list(range(10**12))",
    "a repeated list": "[0] * 10**12",
    "bytes": "bytes(10**12)",
    "join": "','.join(['a' * 10**6] * 10**6)",
    "replace": "('a' * 10**6).replace('a', 'b' * 10**6)",
    "a loop": "while True: pass",
    "a loop that catches": "while True:\n    try:\n        while True: pass\n    except BaseException: continue",
    "a regular expression": "import re\nwhile True: re.findall('(a|aa)+$', 'a' * 5000 + 'b')",
    "sorting": "sorted(range(10**8), key=lambda n: -n)",
    "permutations": "import itertools\nlist(itertools.permutations(range(30)))",
    "an endless iterator": "import itertools\nsum(itertools.count())",
    "recursion": "def f(): return f()\nf()",
    "mutual recursion through repr": "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
    "recursion through equality": "class A:\n    def __eq__(self, other): return self == other\nA() == A()",
    "recursion through sorting": "def k(x): return sorted([1, 2], key=k)\nk(1)",
    "output": "while True: print('x' * 1000)",
    "output without lines": "while True: print('x', end='')",
    "output at once": "print('x' * 10**7)",
    "sleep": "import time\ntime.sleep(10**9)",
    "calls": "while True: await look('a')",
    "calls nobody awaits": "x = []\nwhile True: x.append(look('a'))",
    "calls at once": "import asyncio\nawait asyncio.gather(*[look('a') for _ in range(10**5)])",
    "tasks": "import asyncio\nasync def f(): await asyncio.gather(f(), f())\nawait f()",
    "arguments": "await look('a' * 10**7)",
    "a value": "'a' * 10**7",
    "a value in many places": "x = []\nfor i in range(26): x = [x, x]\nx",
    "an argument in many places": "x = []\nfor i in range(26): x = [x, x]\nawait look(x)",
    "nested source": "(" * 50000 + ")" * 50000,
    "a long sum": "+".join(["1"] * 50000),
    "nested lists in source": "[" * 3000 + "]" * 3000,
    "nested functions": "".join(" " * n + "def f():\n" for n in range(150)) + " " * 150 + "pass",
    "a raised flood": "raise ValueError('x' * 10**7)",
    "a hostile message": "class A:\n    def __str__(self): return 'x' * 10**7\nraise ValueError(str(A()))",
    "exec in exec": "s = 'exec(s)'\nexec(s)",
    "json": "import json\njson.loads('[' * 100000)",
    "a hash": "import hashlib\nwhile True: hashlib.sha256(b'a' * 10**6)",
    "copying a loop of lists": "import copy\nx = []\nfor i in range(10**6): x = [x]\ncopy.deepcopy(x)",
    "a deep repr": "x = []\nfor i in range(10**6): x = [x]\nrepr(x)",
    "a deep comparison": "def f():\n    x = []\n    for i in range(9**5): x = [x]\n    return x\nwhile 1: f() == f()",
}

ODD = {
    "an unprintable result": "class A:\n    def __repr__(self): raise ValueError('no')\nA()",
    "an error while telling an error": "class A:\n    def __str__(self): raise ValueError('no')\nraise ValueError(A())",
    "a null in the source": "x = 1\0",
    "half a character": "'\ud800'",
    "a byte order mark": "\ufeff1 + 1",
    "only comments": "# nothing",
    "nothing": "",
    "line ends of all kinds": "a = 1\r\nb = 2\rc = 3\nd = 4",
    "exit": "raise SystemExit(3)",
    "interrupt": "raise KeyboardInterrupt",
    "an exception that is everything": "raise BaseException",
    "a forged frame as text": "print('\\x00\\x00\\x00\\x05hello')\n'\\x00\\x00\\x00\\x05hello'",
    "terminal commands": "print('\\x1b[2J\\x1b]0;owned\\x07')",
    "a list in itself": "x = []\nx.append(x)\nx",
    "a dict in itself": "x = {}\nx['x'] = x\nx",
    "odd numbers": "[float('nan'), float('inf'), -0.0, 1e308 * 10, 2**63, -2**63]",
    "a type": "int",
    "a function": "print",
    "a tool": "look",
    "a coroutine": "async def f(): return 1\nf()",
}


async def ended(studio: Studio, program: str, *, is_checked: bool) -> ProgramStep:
    step = await studio.run(program, lambda _: "an answer", limits=LIMITS, is_checked=is_checked)
    assert await studio.run("1 + 1") == ProgramFinished(value=2, output="")
    return step


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_outside_cannot_be_reached(studio: Studio, name: str) -> None:
    step = await ended(studio, REFUSED[name], is_checked=False)
    assert isinstance(step, ProgramFailed), step
    assert step.kind in {"error", "unsupported", "syntax"}, step
    assert OUTSIDE not in step.message


BUSY = frozenset(
    {
        "a value in many places",
        "numbers",
        "nested functions",
        "an endless iterator",
        "a loop that catches",
        "a regular expression",
        "a hash",
    }
)
"""Like others of the quick run, but busy until their time is up."""


def slow_where_busy(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] if name in BUSY else []) for name in names]


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", slow_where_busy(BOMBS))
async def test_a_bomb_harms_only_its_own_program(studio: Studio, name: str) -> None:
    step = await ended(studio, BOMBS[name], is_checked=False)
    assert isinstance(step, ProgramFailed), str(step)[:500]
    assert step.kind in {"limit", "error", "syntax", "unsupported"}, step
    assert len(step.message) <= 2_000
    assert len(step.output) <= 20_001


@pytest.mark.parametrize(
    "name", slow_where_busy(["nested source", "a long sum", "nested lists in source", "nested functions", "memory"])
)
async def test_the_type_checker_withstands_them_too(studio: Studio, name: str) -> None:
    step = await ended(studio, BOMBS[name], is_checked=True)
    assert isinstance(step, ProgramFailed), step


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_program_ends_as_a_value(studio: Studio, name: str) -> None:
    step = await ended(studio, ODD[name], is_checked=False)
    assert isinstance(step, ProgramFinished | ProgramFailed), step
    if isinstance(step, ProgramFailed):
        assert step.kind in {"error", "syntax", "unsupported"}, step
