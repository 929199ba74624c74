from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

import cellwright_guest
from cellwright_guest.patches import swap
from tests.guest.marimo_symbols import SYMBOLS, Symbol, missing

_GUEST = Path(cellwright_guest.__file__).parent


def _imported() -> Iterator[tuple[str, str]]:
    for file in sorted(_GUEST.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "marimo":
                for alias in node.names:
                    yield node.module or "", alias.name
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] == "marimo":
                        yield alias.name.rpartition(".")[0], alias.name.rpartition(".")[2]


@pytest.mark.parametrize("symbol", SYMBOLS, ids=lambda symbol: symbol.path)
def test_marimo_still_has_what_the_guest_relies_on(symbol: Symbol) -> None:
    assert missing([symbol]) == []


def test_marimo_still_has_every_symbol_that_the_guest_imports() -> None:
    assert missing(Symbol(module=module, name=name) for module, name in sorted(set(_imported()))) == []


def test_no_symbol_is_listed_twice() -> None:
    paths = [symbol.path for symbol in SYMBOLS]
    assert sorted(paths) == sorted(set(paths))


def test_every_patch_recognises_the_pinned_marimo() -> None:
    try:
        assert [outcome for outcome in swap.apply() if isinstance(outcome, swap.PatchNotApplied)] == []
    finally:
        swap.remove()
    assert version("marimo") == "0.25.2"


def test_what_broke_is_said_name_by_name() -> None:
    kernel = Symbol(module="marimo._runtime.runtime", name="Kernel", attributes=("graph", "levers"))
    arguments = Symbol(module="marimo._runtime.kernel_lifecycle", name="KernelArgs", fields=("streams", "zygote"))
    assert missing(
        [
            Symbol(module="marimo._runtime.no_such_module", name="anything"),
            Symbol(module="marimo._runtime.runtime", name="Kernel.teleport"),
            kernel,
            arguments,
            Symbol(module="marimo._output.formatting", name="try_format", parameters=("obj", "colour")),
            Symbol(module="marimo._runtime.runtime", name="Kernel._run_cells", parameters=()),
        ]
    ) == [
        "marimo._runtime.no_such_module.anything is gone",
        "marimo._runtime.runtime.Kernel.teleport is gone",
        "marimo._runtime.runtime.Kernel has no attribute 'levers'",
        "marimo._runtime.kernel_lifecycle.KernelArgs has no field 'zygote'",
        "marimo._output.formatting.try_format takes no 'colour'",
        "marimo._runtime.runtime.Kernel._run_cells now needs 'cell_ids'",
    ]
    assert missing([replace(kernel, attributes=("graph",)), replace(arguments, fields=("streams",))]) == []
