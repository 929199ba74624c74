"""Remedies whose sentence runs write into what they store: notes, tasks and the reason a run ended.

The text says them for every reader; an interface that knows these values can say them in its own words.
"""

from __future__ import annotations

from typing import Final

from cellwright.remedies import Remedy, remedy

CONFIGURE: Final = remedy("configure_model")
NAME_DATA: Final = remedy("add_data", what="files or folders")
OTHER_DATA: Final = remedy("add_data", what="other files")
NEW_NOTEBOOK: Final = remedy("name_notebook", what="a new notebook")
WRITTEN: Final[tuple[Remedy, ...]] = (CONFIGURE, NAME_DATA, OTHER_DATA, NEW_NOTEBOOK)
