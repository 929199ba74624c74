"""Names of the version before."""

from __future__ import annotations

import pytest

import cellwright.app


@pytest.mark.parametrize("old", ["StudioOptions", "open_studio", "studio_opener"])
def test_a_name_of_the_version_before_still_works_and_says_the_new_one(old: str) -> None:
    with pytest.warns(DeprecationWarning, match=r"is called (\w+) now") as told:
        value = getattr(cellwright.app, old)
    assert value is getattr(cellwright.app, str(told[0].message).split()[3])


def test_a_name_nobody_had_is_unknown() -> None:
    with pytest.raises(AttributeError, match="no attribute 'open_nothing'"):
        _ = cellwright.app.open_nothing
