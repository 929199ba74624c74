"""How a branch's variables differ from its parent's, asked of both kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell, EditCell

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.mark.slow
async def test_a_branch_tells_shape_nulls_and_ranges_before_and_after(opened: Opener) -> None:
    sales = "import pandas as pd\nsales = pd.DataFrame({'price': [1.5, None, 99.0, -4.0]})\ntotal = 3"
    async with opened(sales) as notebook:
        await notebook.run()
        [cell] = notebook.document.cells
        async with notebook.branch() as branch:
            edited = sales.replace("-4.0]})", "-4.0]}).dropna()")
            observation = await branch.apply(
                [EditCell(cell=cell.id, code=edited, base_version=cell.version), CreateCell(code="new = 1")]
            )
            assert observation.is_ok
            found = await branch.differences(["sales", "total", "new", "nowhere"])
    assert [line for diff in found for line in diff.lines()] == [
        "sales: pandas.DataFrame",
        "  4 rows × 1 column → 3 rows × 1 column",
        "  price: nulls 1 → 0",
        "new: new, 1",
    ]
