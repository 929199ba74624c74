"""What marimo imports only when a cell first needs it, so that a zygote can have it imported before the fork.

Found by listing what appeared in `sys.modules` while a fresh kernel ran its first cell, its first error, its first
markdown and its first dataframe. Nothing here starts a thread. Not here: data packages themselves (numpy, pandas …),
whose threads and fork hazards are the zygote's to judge.
"""

from __future__ import annotations

import importlib
from typing import Final

from cellwright_guest.patches import entry_points

WARM_MODULES: Final = (
    # a kernel being built
    *("getpass", "webbrowser", "marimo._output.formatters.formatters", "marimo._runtime.kernel_lifecycle"),
    *("marimo._runtime.runtime", "marimo._save.signing_policy"),
    # its first cell
    *("marimo._save.manifest", "narwhals._interchange"),
    # its first error
    *("pygments.filters", "pygments.formatters.html", "pygments.lexers.python", "pygments.styles.default"),
    # its first markdown
    "marimo._output.md",
    *map("markdown.extensions.{}".format, ("attr_list", "footnotes", "sane_lists", "tables", "toc")),
    *map("pymdownx.blocks{}".format, ("", ".admonition", ".caption", ".details", ".html", ".tab")),
    *map("pymdownx.{}".format, ("arithmatex", "caret", "critic", "highlight", "keys", "magiclink", "quotes")),
    *map("pymdownx.{}".format, ("superfences", "tasklist", "tilde")),
)

WARM_WITH_PANDAS: Final = (
    # its first dataframe
    *map("narwhals._pandas_like.{}".format, ("dataframe", "expr", "group_by", "namespace", "selectors", "series")),
    *("narwhals.stable.v2._namespace", "pandas.io.formats.html"),
)


def warm(*, with_pandas: bool = False) -> tuple[str, ...]:
    """Import all of it, and return the names that this marimo no longer has.

    `with_pandas` also imports pandas and what a first dataframe needs; with pyarrow installed, pandas loads it too.
    """
    entry_points.find_all()
    names = WARM_MODULES + WARM_WITH_PANDAS if with_pandas else WARM_MODULES
    return tuple(name for name in names if not _is_imported(name))


def _is_imported(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
