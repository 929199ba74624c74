"""Control groups of version 2, in an emulated machine whose kernel has nothing else: what each place there gives us.

Slow: a whole Linux boots without hardware's help. `make emulator` fetches what it needs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dirty_equals import IsPositiveInt

from tests.sandbox.emulated import machine

HELD = {"tier": "A", "control_groups": "version 2", "memory": "memory", "forks": 18, "cage_is_inside": True}
"""Of 20 processes two are the cage's own; a hog of memory is told as such; the cage is below our own group."""
IN_LEAF = {"groups_left": ["cellwright-self"], "own_group": "cellwright-self"}


@pytest.mark.slow
def test_tier_a_holds_wherever_our_own_group_is_ours_to_divide(tmp_path: Path) -> None:
    told = machine.run(Path(machine.__file__).with_name("control_groups.py"), tmp_path)
    nothing = "[Errno 2] no memory and pids control groups here"
    assert told == [
        {"place": "machine", "page": 4096, "gathered": IsPositiveInt, "huge_kb": IsPositiveInt, "kept": 8},
        {"place": "user_session", **HELD, **IN_LEAF},
        {"place": "lone_unit", **HELD, **IN_LEAF},
        {"place": "container", **HELD, **IN_LEAF},
        {
            "place": "unit_of_root",
            "tier": "B",
            "control_groups": nothing,
            "groups_left": [],
            "own_group": "foreign.service",
        },
        {
            "place": "hidden_neighbour",
            "tier": "B",
            "control_groups": nothing,
            "groups_left": [],
            "own_group": "hidden.service",
        },
        {"place": "root_group", **HELD, "groups_left": [], "own_group": ""},
    ]
