"""What can be imported in a page: the packages of Pyodide, which marimo's pages run on, and what is pure Python.

`pyodide.json` is made of the lock in Pyodide's npm package of that version: names, versions, and which module is whose.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_TABLE: Final = Path(__file__).with_name("pyodide.json")
_MISSING_IN_BROWSERS: Final = frozenset({
    "curses", "dbm", "ensurepip", "fcntl", "grp", "idlelib", "msvcrt", "multiprocessing", "pty", "pwd", "readline",
    "resource", "socketserver", "subprocess", "syslog", "termios", "tkinter", "turtle", "venv", "winreg", "winsound",
})  # fmt: skip
"""Of the standard library: left out of Pyodide, or there and of no use in a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserModule:
    """Where a page would have a module from."""

    origin: Literal["standard library", "pyodide", "index", "nowhere"]
    package: str = ""
    version: str = ""


@cache
def browser_table() -> dict[str, Any]:
    """Date, versions, packages and imports."""
    return json.loads(_TABLE.read_text("utf-8"))


def module_in_browser(module: str) -> BrowserModule:
    """Where a page would have this top-level module from."""
    table = browser_table()
    if module in _MISSING_IN_BROWSERS:
        return BrowserModule(origin="nowhere", package=module)
    if module in sys.stdlib_module_names or module == "marimo":
        return BrowserModule(origin="standard library")
    if (package := table["imports"].get(module)) is not None:
        return BrowserModule(origin="pyodide", package=package, version=table["packages"][package])
    for package in importlib.metadata.packages_distributions().get(module, ()):
        if _is_pure(package):
            return BrowserModule(origin="index", package=package)
    return BrowserModule(origin="nowhere", package=module)


def _is_pure(distribution: str) -> bool:
    wheel = importlib.metadata.distribution(distribution).read_text("WHEEL") or ""
    return "Root-Is-Purelib: true" in wheel


def version_conflict(requirement: str) -> str:
    """Why what a header asks for cannot be had in a page; empty if it can, or is not in the table."""
    try:
        read = Requirement(requirement)
    except InvalidRequirement:
        return ""
    name = canonicalize_name(read.name)
    there = {canonicalize_name(one): version for one, version in browser_table()["packages"].items()}.get(name)
    if there is None or read.specifier.contains(there, prereleases=True):
        return ""
    return f"it asks for {requirement}, and a page has {name} {there}"
