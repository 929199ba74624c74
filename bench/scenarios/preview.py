"""A look at a large DataFrame, against a look at a small one: previews must not grow with the data."""

from __future__ import annotations

import time

from bench.interleave import interleave
from bench.rows import Finding, Samples, compare, no_more_than
from bench.stage import Stage, expect_well
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.prompt_summary import estimate_tokens

_TOKENS = 2_000
_COLUMNS = 10
_TABLE = """import numpy, pandas
_rows = {megabytes} * 1_000_000 // (8 * {columns})
df = pandas.DataFrame({{f"c{{number}}": numpy.arange(_rows, dtype="float64") for number in range({columns})}})"""


async def measure(stage: Stage) -> list[Finding]:
    """Ours against ours: `look` at 1 GB and at 10 MB, each in its own kernel, and how many tokens the text costs."""
    large, small = (
        stage.project(f"preview-{megabytes}", _TABLE.format(megabytes=megabytes, columns=_COLUMNS))
        for megabytes in (1_000, 10)
    )
    async with stage.open(large) as big, stage.open(small) as little:
        for notebook in (big, little):
            expect_well(await notebook.run())
        of_large, of_small = await interleave(
            [lambda: _look(big), lambda: _look(little)], rounds=stage.rounds(20, quick=5), burst=3, warm_ups=3
        )
        (shown,) = await big.look(["df"], tokens=_TOKENS)
    return [
        compare(
            "preview of a 1 GB DataFrame",
            ours=of_large,
            peer=of_small,
            peer_name="ours, of 10 MB",
            unit="ms",
            bar=no_more_than(1.5),
        ),
        compare(
            "preview of a 1 GB DataFrame, size",
            ours=Samples((float(estimate_tokens(shown.text)),)),
            peer=Samples((float(_TOKENS),)),
            peer_name="the budget",
            unit="tokens",
            bar=no_more_than(1),
        ),
    ]


async def _look(notebook: OpenNotebook) -> float:
    began = time.perf_counter()
    await notebook.look(["df"])
    return (time.perf_counter() - began) * 1e3
