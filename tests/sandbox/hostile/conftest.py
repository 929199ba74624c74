"""Halls for the whole session: each is a host that takes one attack after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .hall import Hall, Setting

HallFor = Callable[[Setting], Hall]


@pytest.fixture(scope="session")
def hall_for() -> Iterator[HallFor]:
    """The hall of a setting; one that fell is replaced, so that the next attack is judged by itself."""
    halls: dict[Setting, Hall] = {}

    def give(setting: Setting) -> Hall:
        if setting not in halls or not halls[setting].is_alive:
            halls[setting] = Hall(setting)
        return halls[setting]

    yield give
    for hall in halls.values():
        hall.close()
