"""What kind of failure it was: told from what real kernels say, however the saying reaches us."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.agents.repair.failure_rules import FailureKind, judge
from cellwright.agents.repair.failures import (
    ObservedFailure,
    ObservedPass,
    attempts,
    cell_lineages,
    find_flickering,
    normalised,
)
from cellwright.kernel.observation import CellFault, CellOutcome, KernelEnd, Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, DeleteCell, EditCell, apply_edits
from cellwright.sandbox.egress import Egress
from cellwright.sandbox.spec import Limits
from cellwright.tools.notebook.reports import observation_json, refused_edit
from cellwright.tools.tool import Done, Refusal, ToolError, ToolResult
from tests.conftest import Opener

FRAME = "import pandas as pd\ndf = pd.DataFrame({'Price ': [1.5, 2.0], 'n': [1, 2]})\nkeys = {'a': 1}"
LINES: list[tuple[str, FailureKind, tuple[str, ...]]] = [
    ("x = (1", "syntax", ()),
    ("from math import *", "syntax", ()),
    ("import duckdb as _d\n_d.sql('selec 1')", "syntax", ()),
    ("nowhere + 1", "name-conflict", ("nowhere",)),
    ("keys = 2", "name-conflict", ("keys",)),
    ("import nopackage", "missing-package", ("nopackage",)),
    ("import pandas.nothing", "missing-package", ("pandas.nothing",)),
    ("open('sale.csv')", "missing-file", ("sale.csv",)),
    ("pd.read_csv('data/sale.csv')", "missing-file", ("data/sale.csv",)),
    ("import polars as _p\n_p.read_csv('sale.csv')", "missing-file", ("sale.csv",)),
    ("import polars as _p\n_p.read_parquet('sales/*.parquet')", "missing-file", ()),
    ("df['price']", "missing-column", ("price",)),
    ("df[['price', 'q']]", "missing-column", ("price", "q")),
    ("df.query('price > 1')", "missing-column", ("price",)),
    ("df.groupby('price').sum()", "missing-column", ("price",)),
    ("keys['A']", "missing-column", ("A",)),
    ("import polars as _p\n_p.DataFrame({'a': [1]}).select('A')", "missing-column", ("A",)),
    ("import duckdb as _d\n_d.sql('select price from df')", "missing-column", ("price",)),
    ("import sqlite3 as _s\n_s.connect(':memory:').execute('select 1 from t')", "missing-column", ("t",)),
    ("1 + 'a'", "type-shape", ()),
    ("int('x')", "type-shape", ()),
    ("[][1]", "type-shape", ()),
    ("df.Price", "type-shape", ("Price",)),
    ("from math import nothing", "type-shape", ("nothing",)),
    ("import numpy as _n\n_n.ones(3) + _n.ones(4)", "type-shape", ()),
    ("import numpy as _n\n_n.zeros(1 << 46)", "resource", ("memory",)),
    ("raise MemoryError", "resource", ("memory",)),
    ("open('/etc/x', 'w')", "resource", ("files",)),
    ("def _f():\n    _f()\n_f()", "resource", ("recursion",)),
    ("import subprocess as _s\n_s.run(['sleep', '9'], timeout=0.01)", "time-out", ()),
    ("import urllib.request as _u\n_u.urlopen('https://birds.example')", "network-refused", ()),
    ("import requests as _r\n_r.get('https://birds.example')", "network-refused", ("birds.example",)),
    ("import socket as _s\n_s.socket()", "network-refused", ()),
    ("raise ConnectionResetError(104, 'Connection reset by peer')", "flaky", ()),
    ("import sqlite3 as _s\nraise _s.OperationalError('database is locked')", "flaky", ()),
    ("assert df.n.sum() == 4, 'the total is off'", "failed-check", ()),
    ("import pandas.testing as _t\n_t.assert_frame_equal(df, df + 1)", "failed-check", ()),
    ("class _Odd(Exception): ...\nraise _Odd('hm')", "unknown", ()),
]


def classify(result: ToolResult, *, document: Document | None = None) -> tuple[ObservedFailure, ...]:
    return tuple(each for each in attempts(result, document=document) if isinstance(each, ObservedFailure))


def kept(observation: Observation) -> Done:
    """What the tools answer of it."""
    return Done(text="", value=observation_json(observation))


async def failed_with(notebook: OpenNotebook, code: str, **how: Any) -> Observation:
    return await notebook.apply([CreateCell(code=code)], **how)


@pytest.mark.slow
async def test_every_class_is_told_from_what_a_real_kernel_says(opened: Opener) -> None:
    async with opened(FRAME) as notebook:
        await notebook.run("all")
        for code, kind, subjects in LINES:
            observation = await failed_with(notebook, code)
            found = classify(kept(observation), document=notebook.document)
            assert [(failure.kind, failure.subjects) for failure in found] == [(kind, subjects)], code
            made = notebook.document.cells[-1]
            assert found[0].cell in {made.id, notebook.document.cells[0].id}
            await notebook.apply([DeleteCell(cell=made.id, base_version=made.version)])


@pytest.mark.slow
async def test_a_cycle_is_told_once_with_its_names_and_cells(opened: Opener) -> None:
    async with opened("a = b + 1", "b = a + 1") as notebook:
        [failure] = classify(kept(await notebook.run("all")))
        assert (failure.kind, failure.subjects) == ("name-conflict", ("a", "b"))
        assert set(failure.evidence) == {cell.id for cell in notebook.document.cells}


@pytest.mark.slow
async def test_cells_that_only_need_a_failed_one_are_not_failures(opened: Opener) -> None:
    async with opened("x = 1 / 0", "y = x + 1", "z = 3") as notebook:
        found = attempts(kept(await notebook.run("all")))
        kinds = [attempt.kind if isinstance(attempt, ObservedFailure) else "passed" for attempt in found]
        assert kinds == ["type-shape", "passed"]


@pytest.mark.slow
async def test_a_deadline_is_a_time_out_and_a_stop_by_somebody_is_not(opened: Opener) -> None:
    async with opened() as notebook:
        late = await failed_with(notebook, "import time as _t\n_t.sleep(60)", seconds=0.2)
        assert [failure.kind for failure in classify(kept(late))] == ["time-out"]
        stopped = await failed_with(notebook, "raise KeyboardInterrupt")
        assert [failure.kind for failure in classify(kept(stopped))] == ["refused"]


@pytest.mark.slow
async def test_a_kernel_that_ends_is_told_by_why_it_ended(opened: Opener) -> None:
    async with opened(limits=Limits(memory_mb=400)) as notebook:
        ended = await failed_with(notebook, "import os as _o, signal as _s\n_o.kill(_o.getpid(), _s.SIGSEGV)")
        assert ended.kernel_end is not None
        assert [failure.kind for failure in classify(kept(ended))] == ["kernel-lost"]
    for end, kind in [
        (KernelEnd(reason="it ran out of memory", out_of_memory=True), "resource"),
        (KernelEnd(reason="it went over its disk limit", limit="disk"), "resource"),
        (KernelEnd(reason="it ran over its wall time limit of 5 s", limit="wall"), "time-out"),
        (KernelEnd(reason="it exited with code 3", exit_code=3), "kernel-lost"),
    ]:
        observation = Observation(kernel_end=end)
        assert [failure.kind for failure in classify(kept(observation))] == [kind]


@pytest.mark.slow
async def test_too_much_memory_is_a_resource_whatever_way_it_ends(opened: Opener) -> None:
    async with opened(limits=Limits(memory_mb=300)) as notebook:
        code = "_kept = []\nwhile True:\n    _kept.append(b'1' * (16 << 20))"
        observation = await failed_with(notebook, code, seconds=60)
        assert [failure.kind for failure in classify(kept(observation))] == ["resource"]


@pytest.mark.slow
@pytest.mark.parametrize("client", ["urllib", "requests", "pandas"])
async def test_a_host_that_is_not_approved_is_named(opened: Opener, client: str) -> None:
    codes = {
        "urllib": "import urllib.request as _u\n_u.urlopen('https://birds.example/a.csv')",
        "requests": "import requests as _r\n_r.get('http://birds.example/a.csv').raise_for_status()",
        "pandas": "import pandas as _p\n_p.read_csv('https://birds.example/a.csv')",
    }
    async with opened(egress=Egress()) as notebook:
        observation = await failed_with(notebook, codes[client])
        found = classify(kept(observation))
        assert [(failure.kind, failure.subject) for failure in found] == [("network-refused", "birds.example")]


@pytest.mark.slow
async def test_edits_that_were_not_made_are_failures_too(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        cell = notebook.document.cells[0].id
        await notebook.apply([EditCell(cell=cell, base_version=1, code="x = 2")])
        stale = await notebook.apply([EditCell(cell=cell, base_version=1, code="x = 3")])
        assert stale.refused is not None
        assert [each.kind for each in classify(refused_edit(stale.refused))] == ["edit-refused"]


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (Refusal(feedback="not in this envelope"), "refused"),
        (ToolError(kind="timed-out", message="over"), "time-out"),
        (ToolError(kind="too-big", message="over"), "resource"),
        (ToolError(kind="unavailable", message="later"), "flaky"),
        (ToolError(kind="not-found", message="No file 'a.csv'."), "missing-file"),
        (ToolError(kind="failed", message="host 'a.example' is not approved for this notebook"), "network-refused"),
        (
            ToolError(
                kind="failed",
                message="HTTPSConnectionPool(host='api.example', port=443): Max retries exceeded (Caused by "
                "ProxyError('Unable to connect to proxy', OSError(\"Tunnel connection failed: 403 the connection 'crm' "
                "is not approved for this notebook, and leads to host 'api.example'\")))",
            ),
            "connection-refused",
        ),
        (
            ToolError(
                kind="failed",
                message="An error occurred (AccessDenied) when calling GetObject: The connection 'lake' is "
                "not approved for this notebook.",
            ),
            "connection-refused",
        ),
        (ToolError(kind="bad-arguments", message="x: field required"), "unknown"),
    ],
)
def test_errors_of_tools_have_a_class(result: Refusal | ToolError, kind: FailureKind) -> None:
    assert [failure.kind for failure in classify(result)] == [kind]


async def test_the_same_code_that_failed_and_passed_is_flaky_but_not_if_anything_changed(
    opened: Opener, tmp_path: Path
) -> None:
    cell = (
        "import pathlib as _p\n_mark = _p.Path('mark')\n"
        "if not _mark.exists():\n    _mark.touch()\n    raise ValueError('odd')\nlucky = seed"
    )
    async with opened("seed = 1", cell) as notebook:
        first = attempts(kept(await notebook.run("all")), document=notebook.document)
        second = attempts(kept(await notebook.run("stale")), document=notebook.document)
        [flaky] = find_flickering(first, second)
        assert (flaky.kind, flaky.cell) == ("flaky", notebook.document.cells[1].id)
        assert find_flickering(second, second) == ()
        seed = notebook.document.cells[0]
        changed = apply_edits(notebook.document, [EditCell(cell=seed.id, base_version=1, code="seed = 2")])
        assert isinstance(changed, Document)
        other = [ObservedPass(cell=flaky.cell, lineage=cell_lineages(changed)[flaky.cell])] if flaky.cell else []
        assert find_flickering(first, other) == ()


async def test_what_was_missing_and_is_there_now_is_not_flaky(opened: Opener) -> None:
    async with opened("text = open('late.txt').read()") as notebook:
        first = attempts(kept(await notebook.run("all")), document=notebook.document)
        await failed_with(notebook, "with open('late.txt', 'w') as _f:\n    _f.write('here')")
        second = attempts(kept(await notebook.run("stale")), document=notebook.document)
        assert any(isinstance(attempt, ObservedPass) for attempt in second)
        assert find_flickering(first, second) == ()


def test_numbers_and_addresses_do_not_make_a_failure_another_one() -> None:
    one = normalised("operands with shapes (3,) (4,) at 0x7f00aa\ncaused by ValueError: 1")
    assert one == normalised("Operands with  shapes (13,) (400,) at 0x1111")
    assert one != normalised("operands with dtypes (3,) (4,)")


WORDS = st.text(max_size=200) | st.from_regex(re.compile(r"['\"\[\]\w :=.()]{0,120}"), fullmatch=True)
TYPES = st.sampled_from(["KeyError", "", "sql", "cycle", "multiple-definition", "OSError", "KernelEnded"]) | WORDS


@pytest.mark.slow
@given(TYPES, WORDS, st.sampled_from(["failed", "interrupted", "lost", "ok", "cancelled", "stale"]))
def test_whatever_an_error_says_it_gets_exactly_one_class(error_type: str, message: str, status: Any) -> None:
    fault = CellFault(type=error_type, message=message, line=1)
    outcome = CellOutcome(id=_CELL, name="", status=status, error=fault)
    found = classify(kept(Observation(cells=(outcome,))))
    assert len(found) == (status in {"failed", "interrupted", "lost"})
    judge(error_type, message, tool_error="failed")


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_a_tool_answers_is_read_without_failing(value: Any) -> None:
    cells = [value, {"cell": "a", "status": "failed", "error": value}]
    for answer in (value, {"ok": False, "problem": "", "cells": cells}):
        found = classify(Done(text="", value=answer))
        assert {failure.kind for failure in found} <= set(get_args(FailureKind))


_CELL: Any = "Hbol"
