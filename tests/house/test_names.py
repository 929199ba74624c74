"""A class name means one thing in the whole project."""

from __future__ import annotations

import re
from collections import Counter

from tests.house.places import SOURCE, modules

MOST_SHARED = 0.03
"""Share of class names that may be defined more than once; starlette, pydantic-ai and OpenHands have 0 to 2 %."""


def class_names(source: str) -> list[str]:
    """Every class a source defines, the private and the nested ones too."""
    return re.findall(r"^ *class (\w+)[(:\[]", source, re.MULTILINE)


def test_hardly_a_class_name_is_defined_twice() -> None:
    counted = Counter(name for path in modules(SOURCE) for name in class_names(path.read_text(encoding="utf-8")))
    shared = sorted(name for name, times in counted.items() if times > 1)
    assert len(shared) / len(counted) <= MOST_SHARED, shared


def test_a_class_counts_wherever_it_is_defined() -> None:
    assert class_names("class A:\n    class _B: ...\ndef f():\n    class A: ...\n") == ["A", "_B", "A"]
