"""Which packages a page without a network takes along: chosen from a mirror's lock and wheels, as micropip would."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from cellwright.runs.publish.pyodide_mirror import LockedPackage, MirroredWheel, PyodideMirror

WORKER_PACKAGES: Final = (
    "micropip", "msgspec", "marimo-base", "Markdown", "pymdown-extensions", "narwhals", "packaging",
)  # fmt: skip
"""What marimo's workers ask Pyodide for; each publication looks whether they still do."""
_SESSION_PACKAGES: Final = ("docutils", "pygments", "jedi", "pyodide-http")
"""What they import besides, before a notebook runs."""
_DUCKDB: Final = re.compile(r"(^|\n)\s*(?:import\s+[^\n#]*\bduckdb\b|from\s+duckdb\b|[^\n#]*\bduckdb\s*\.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageNeeds:
    """What a notebook asks of a page."""

    code: str
    packages: tuple[str, ...] = ()
    """That its cells import, by name."""
    requirements: tuple[str, ...] = ()
    """Of its header."""
    marimo_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetNeed:
    """A package that neither the lock nor a wheel beside it offers in a version that will do."""

    requirement: str
    """Name with versions."""
    asked_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflinePackages:
    """Everything to take along, by normalized name, or what is not to be had."""

    chosen: Mapping[NormalizedName, LockedPackage | MirroredWheel]
    depends: Mapping[NormalizedName, tuple[NormalizedName, ...]] = field(default_factory=dict)
    """Of each that is chosen; without circles, since Pyodide would wait for ever."""
    unmet: tuple[UnmetNeed, ...] = ()


@dataclass(slots=True)
class _Demand:
    """All that is asked of one package."""

    versions: set[Specifier] = field(default_factory=set)
    extras: set[str] = field(default_factory=set)
    asked_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Browser:
    """What a page would have from this mirror."""

    mirror: PyodideMirror
    environment: Mapping[str, str]
    """As markers see it."""
    requires_here: Callable[[str], Sequence[str]]

    def choose(self, name: NormalizedName, versions: SpecifierSet) -> LockedPackage | MirroredWheel | None:
        locked = self.mirror.locked(name)
        if locked is not None and versions.contains(locked.version, prereleases=True):
            return locked
        wheels = self.mirror.wheels.get(name, ())
        return next((one for one in wheels if versions.contains(one.version, prereleases=True)), None)

    def requirements(
        self, name: NormalizedName, one: LockedPackage | MirroredWheel | None, extras: frozenset[str]
    ) -> Iterator[tuple[Requirement, str]]:
        match one:
            case LockedPackage():
                yield from ((Requirement(text), one.name) for text in one.depends)
                return
            case MirroredWheel():
                requires: Sequence[Requirement] = one.requires
            case None:
                requires = [Requirement(text) for text in self.requires_here(name)]
        for requirement in requires:
            if self.applies(requirement, extras):
                # Its marker was read with its extras; in the walk there are none.
                bare = f"{requirement.name}{_brackets(requirement.extras)}{requirement.specifier}"
                yield Requirement(bare), name

    def applies(self, requirement: Requirement, extras: frozenset[str]) -> bool:
        marker = requirement.marker
        return marker is None or any(marker.evaluate({**self.environment, "extra": one}) for one in ("", *extras))


def page_requirements(needs: PageNeeds) -> tuple[tuple[Requirement, str], ...]:
    """What the page asks for itself, and who of it asks."""
    asked = [
        *((f"{one}=={needs.marimo_version}" if one == "marimo-base" else one, "marimo") for one in WORKER_PACKAGES),
        *((one, "marimo") for one in _SESSION_PACKAGES),
        *((one, "the notebook") for one in needs.packages),
        *((one, "its header") for one in needs.requirements),
    ]
    read = [(Requirement(text), who) for text, who in asked]
    in_header = {canonicalize_name(one.name) for one, who in read if who == "its header"}
    if "mo.sql" in needs.code or "duckdb" in in_header or _DUCKDB.search(needs.code):
        sql = ["pandas", "duckdb", "sqlglot", *(["pyarrow"] if "polars" in needs.code else [])]
        read += [(Requirement(one), "marimo's SQL") for one in sql]
    # A page has marimo itself as `marimo-base`, and never looks for what a header calls marimo.
    return tuple((one, who) for one, who in read if canonicalize_name(one.name) != "marimo")


def _nothing_known(_name: str) -> Sequence[str]:
    return ()


def choose_packages(
    mirror: PyodideMirror,
    asked: Sequence[tuple[Requirement, str]],
    *,
    requires_here: Callable[[str], Sequence[str]] = _nothing_known,
) -> OfflinePackages:
    """The closure of what is asked for: of the lock where its version will do, else the newest wheel that does.

    Nothing is tried twice: where two ask for versions that exclude each other, that is an unmet need. What a package
    needs that is not to be had is told by `requires_here`, so that all is named at once.
    """
    demands = dict[NormalizedName, _Demand]()
    browser = _Browser(mirror=mirror, environment=_environment(mirror), requires_here=requires_here)
    while True:
        before = _size(demands)
        found = _walk(browser, asked, demands)
        if _size(demands) == before:
            return found


def _walk(
    browser: _Browser, asked: Sequence[tuple[Requirement, str]], demands: dict[NormalizedName, _Demand]
) -> OfflinePackages:
    """One pass: what was asked in earlier ones counts for every choice, and what is new is added."""
    chosen, unmet = dict[NormalizedName, LockedPackage | MirroredWheel](), dict[NormalizedName, UnmetNeed]()
    expanded = dict[NormalizedName, frozenset[str]]()
    depends = dict[NormalizedName, tuple[NormalizedName, ...]]()
    left = list(asked)
    while left:
        requirement, who = left.pop(0)
        if not browser.applies(requirement, frozenset()):
            continue
        name = canonicalize_name(requirement.name)
        demand = demands.setdefault(name, _Demand(asked_by=who))
        demand.versions |= set(requirement.specifier)
        demand.extras |= requirement.extras
        if expanded.get(name) == (extras := frozenset(demand.extras)):
            continue
        expanded[name] = extras
        versions = SpecifierSet(demand.versions)
        one = browser.choose(name, versions)
        if one is None:
            unmet[name] = UnmetNeed(requirement=f"{name}{versions}", asked_by=demand.asked_by)
        else:
            chosen[name] = one
        needed = list(browser.requirements(name, one, extras))
        depends[name] = tuple(dict.fromkeys(canonicalize_name(one.name) for one, _ in needed))
        left += needed
    return OfflinePackages(chosen=chosen, depends=_without_circles(depends), unmet=tuple(unmet.values()))


def _without_circles(
    depends: Mapping[NormalizedName, tuple[NormalizedName, ...]],
) -> dict[NormalizedName, tuple[NormalizedName, ...]]:
    """The same, less each edge that leads back to where one came from."""
    kept = dict[NormalizedName, list[NormalizedName]]()

    def visit(name: NormalizedName, above: frozenset[NormalizedName]) -> None:
        if name in kept:
            return
        kept[name] = []
        for other in depends.get(name, ()):
            if other not in above | {name}:
                visit(other, above | {name})
                kept[name].append(other)

    for name in depends:
        visit(name, frozenset())
    return {name: tuple(others) for name, others in kept.items()}


def _brackets(extras: set[str]) -> str:
    return f"[{','.join(sorted(extras))}]" if extras else ""


def _size(demands: Mapping[NormalizedName, _Demand]) -> int:
    return sum(1 + len(one.versions) + len(one.extras) for one in demands.values())


def _environment(mirror: PyodideMirror) -> dict[str, str]:
    """What markers see in a page."""
    python = mirror.lock.info.get("python", "3.14.0") if mirror.lock is not None else "3.14.0"
    return {
        "implementation_name": "cpython", "implementation_version": python, "os_name": "posix",
        "platform_machine": "wasm32", "platform_python_implementation": "CPython", "platform_release": "",
        "platform_system": "Emscripten", "platform_version": "", "python_full_version": python,
        "python_version": ".".join(python.split(".")[:2]), "sys_platform": "emscripten",
    }  # fmt: skip
