"""What is private to a module is used in it: neither ruff nor the type checker looks for that."""

from __future__ import annotations

import re

from tests.house.places import ROOT, modules

# What has a decorator is called by whoever decorated it.
PRIVATE = re.compile(r"\n\n(?:#.*\n)*(?:async def|def|class) (_[a-zA-Z]\w*)")


def unused(source: str) -> list[str]:
    """Private functions and classes of a module that nothing else in it names."""
    return [name for name in PRIVATE.findall(source) if len(re.findall(rf"\b{name}\b", source)) == 1]


def test_every_private_function_and_class_is_used_in_its_module() -> None:
    ours = [path for folder in ("src", "tests", "bench", "eval") for path in modules(ROOT / folder)]
    found = {str(path.relative_to(ROOT)): unused(path.read_text(encoding="utf-8")) for path in ours}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_nobody_uses_is_found() -> None:
    used = "\n\n\ndef _used() -> None: ...\n\n\n_used()\n"
    called = "\n\n\n@app.callback()\ndef _called() -> None: ...\n"
    dead = "\n\n\n# Why.\nasync def _dead() -> None: ...\n\n\nclass _Gone:\n    def _method(self) -> None: ...\n"
    assert unused(used + called + dead) == ["_dead", "_Gone"]
