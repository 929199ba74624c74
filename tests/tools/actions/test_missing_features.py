"""What Python has and programs lack is named in words, with what to write instead."""

from __future__ import annotations

import pytest

from cellwright.tools.actions.steps import ProgramFailed

from .conftest import Studio

MISSING = {
    "class inheritance": "class A:\n    pass\nclass B(A):\n    pass",
    "own exceptions": "class Odd(Exception):\n    pass",
    "Enum": "class Colour(Enum):\n    RED = 1",
    "TypedDict": "from typing import TypedDict\nclass T(TypedDict):\n    a: int",
    "(`yield`)": "def f():\n    yield 1\nlist(f())",
    "(`yield from`)": "def f():\n    yield from [1]",
    "re.sub with a function": "import re\nre.sub('a', lambda m: 'b', 'aaa')",
    "`del`": "x = {'a': 1}\ndel x['a']",
    "@staticmethod": "class A:\n    @staticmethod\n    def f():\n        return 1",
    "@classmethod": "class A:\n    @classmethod\n    def f(cls):\n        return 1",
    "@property": "class A:\n    @property\n    def f(self):\n        return 1",
    "`type X": "type X = int",
    "`async with`": "async def f():\n    async with lock as x:\n        pass",
    "asyncio.TaskGroup": "import asyncio\nasync with asyncio.TaskGroup() as tasks:\n    pass",
    "`async for`": "async def f():\n    async for x in y:\n        pass",
    "async comprehensions": "[x async for x in y]",
    "`except*`": "try:\n    pass\nexcept* ValueError:\n    pass",
    "`bytearray`": "bytearray(3)",
    "`memoryview`": "memoryview(b'a')",
    "`input`": "input()",
    "`exit`": "exit()",
    "`super`": "class A:\n    def f(self):\n        return super().f()\nA().f()",
    "`__import__`": "__import__('os')",
    "`__len__`": "class A:\n    def __len__(self):\n        return 3\nlen(A())",
    "the module 'statistics'": "import statistics",
    "the module 'numpy'": "import numpy as np",
    "the module 'pandas'": "import pandas",
    "the module 'io'": "import io",
    "`pathlib.PurePosixPath`": "from pathlib import PurePosixPath",
    "`asyncio.create_task`": "import asyncio\nasyncio.create_task(look('a'))",
    "`asyncio.wait_for`": "import asyncio\nawait asyncio.wait_for(look('a'), 1)",
    "`os.system`": "import os\nos.system('id')",
}


@pytest.mark.slow
@pytest.mark.parametrize("is_checked", [False, True], ids=["unchecked", "checked"])
@pytest.mark.parametrize("words", MISSING)
async def test_a_missing_feature_is_named_with_what_to_write_instead(
    studio: Studio, words: str, is_checked: bool
) -> None:
    step = await studio.run(MISSING[words], is_checked=is_checked)
    assert isinstance(step, ProgramFailed), step
    if is_checked and step.kind == "types":
        assert "used when not defined" in step.message
        return
    assert step.kind == "unsupported", step
    assert step.message.startswith("Not available in programs: ")
    assert words in step.message
    assert step.hint


async def test_wrong_syntax_is_told_with_its_line(studio: Studio) -> None:
    step = await studio.run("x = 1\ny = = 2", is_checked=True)
    assert step == ProgramFailed(kind="syntax", type="SyntaxError", message="Expected an expression", line=2)


async def test_a_programs_own_not_implemented_error_is_its_own(studio: Studio) -> None:
    step = await studio.run("raise NotImplementedError('later')")
    assert step == ProgramFailed(kind="error", type="NotImplementedError", message="later", line=1)


@pytest.mark.parametrize(
    "program",
    [
        "with_default = {}.get('a', 1)\n[*range(3), with_default]",
        "match {'a': 1}:\n    case {'a': n}:\n        r = n\nr",
        "from collections import Counter\nCounter('aab').most_common(1)",
        "import json, re\njson.dumps({'a': re.findall('[a-z]', 'a1b')})",
        "sorted([3, 1], key=lambda n: -n)",
        "(n := 3) + sum(x for x in range(n))",
        "d = {'a': 1}\nd.pop('a')\nf'{d!r:>4}'",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    r = str(e)\nfinally:\n    done = True\nr",
    ],
)
async def test_everyday_python_works(studio: Studio, program: str) -> None:
    step = await studio.run(program, is_checked=True)
    assert not isinstance(step, ProgramFailed), step
