"""Packages a notebook needs without importing them: another package imports them when a certain call is made.

One row per call: the package that must be imported, what is called, and what that needs. A row only ever adds what the
kernel had, so it may name alternatives.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_MARIMO: Final = frozenset({"marimo"})
_PANDAS: Final = frozenset({"pandas"})
_POLARS: Final = frozenset({"polars"})
_FRAMES: Final = _PANDAS | _POLARS
_DRAWN: Final = frozenset({"plot", "hist", "boxplot"})

UNSEEN: Final[tuple[tuple[frozenset[str], frozenset[str], frozenset[str]], ...]] = (
    # `mo.sql` hands its result over as polars where polars is, else as pandas; either way through arrow.
    (_MARIMO, frozenset({"mo.sql"}), frozenset({"duckdb", "sqlglot", "polars", "pyarrow"})),
    (_MARIMO, frozenset({"mo.ui.altair_chart", "mo.ui.data_explorer"}), frozenset({"altair"})),
    (_MARIMO, frozenset({"mo.ui.plotly"}), frozenset({"plotly"})),
    (_MARIMO, frozenset({"mo.ui.anywidget"}), frozenset({"anywidget", "ipywidgets"})),
    (_MARIMO, frozenset({"mo.ui.matplotlib", "mo.mpl"}), frozenset({"matplotlib"})),
    (
        _PANDAS,
        frozenset({"read_parquet", "to_parquet", "read_feather", "to_feather", "read_orc", "to_orc", "ArrowDtype"}),
        frozenset({"pyarrow"}),
    ),
    (_PANDAS, frozenset({"read_excel", "to_excel", "ExcelFile", "ExcelWriter"}), frozenset({"openpyxl"})),
    (_PANDAS, frozenset({"read_html", "read_xml", "to_xml"}), frozenset({"lxml"})),
    (_PANDAS, frozenset({"read_sql", "read_sql_query", "read_sql_table", "to_sql"}), frozenset({"sqlalchemy"})),
    (_PANDAS, frozenset({"read_hdf", "to_hdf", "HDFStore"}), frozenset({"tables"})),
    (_PANDAS, frozenset({"to_markdown"}), frozenset({"tabulate"})),
    (_PANDAS, frozenset({"style"}), frozenset({"jinja2"})),
    (_PANDAS, _DRAWN, frozenset({"matplotlib"})),
    (_POLARS, frozenset({"plot"}), frozenset({"altair"})),
    (_POLARS, frozenset({"to_pandas"}), frozenset({"pandas", "pyarrow"})),
    (_POLARS, frozenset({"from_pandas", "to_arrow", "from_arrow"}), frozenset({"pyarrow"})),
    (_POLARS, frozenset({"read_excel"}), frozenset({"fastexcel"})),
    (_POLARS, frozenset({"write_excel"}), frozenset({"xlsxwriter"})),
    (_FRAMES, frozenset({"read_database", "read_database_uri"}), frozenset({"connectorx", "sqlalchemy"})),
    (frozenset({"duckdb"}), frozenset({"df", "fetchdf", "to_df"}), frozenset({"pandas", "numpy"})),
    (frozenset({"duckdb"}), frozenset({"pl"}), frozenset({"polars", "pyarrow"})),
    (frozenset({"duckdb"}), frozenset({"arrow", "fetch_arrow_table"}), frozenset({"pyarrow"})),
    (frozenset({"pyarrow"}), frozenset({"to_pandas"}), frozenset({"pandas"})),
)
"""Imported package, attributes that are called, distributions that these need."""

ENGINES: Final = frozenset(
    {"pyarrow", "fastparquet", "openpyxl", "xlsxwriter", "xlrd", "calamine", "lxml", "numba", "plotly", "matplotlib"}
)
"""Words that, given as an `engine`, a `backend` or a `flavor`, are the distribution's own name."""


def unseen(imported: Collection[str], calls: Collection[str], words: Collection[str]) -> set[str]:
    """What is needed besides the packages that are imported, from the calls that are made."""
    found = {name for word in words if (name := "python-calamine" if word == "calamine" else word) and word in ENGINES}
    for packages, attributes, needed in UNSEEN:
        if not packages.isdisjoint(imported) and not attributes.isdisjoint(calls):
            found |= needed
    return found
