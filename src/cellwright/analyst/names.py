"""What tables are called in the notebook: variables nobody else has, and how each file is reached. Pure."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.errors import Defect
from cellwright.notebook.source_text import identifier, literal, numbered
from cellwright.profiles.profile import ColumnProfile, Join, Profile, TableProfile

MAX_TABLES: Final = 12
"""More tables than these are named to the reader, and not read."""
MAX_JOINED: Final = 3
_MIN_COVERAGE: Final = 0.8
"""A join that loses more than a fifth of the left keys is told, and not made."""
_MAX_NAME_LENGTH: Final = 32
_RESERVED: Final = frozenset({
    "mo", "alt", "np", "pd", "stats", "pq", "feather", "gzip", "duckdb", "json", "sqlite3", "closing", "tempfile",
    "marimo", "app", "setup", "data_folder", "imports", "libraries", "data_files", "title", "answer", "answer_text",
    "tests", "roles", "caveats", "problems",
    # Variables and cells of short notebooks.
    "headline", "told", "periods", "repairs", "selected", "in_time", "result", "ranked", "now", "before", "both",
    "first", "second", "change", "segments", "segment", "apart", "certainty", "statistics", "sure", "has_segment",
    "is_certain", "where", "through", "season", "course", "spread", "made", "made_of", "certain", "middle", "courses",
    "over_time", "split", "by_group", "sizes", "earlier", "far_off", "part", "pieces", "shares", "share_over_time",
    "pairs", "relation", "by_quarter", "by_size", "closer", "strongest", "strength", "missing", "gaps", "doubled",
    "far", "rest", "weight", "common", "ends", "by_label", "cycle", "step_at", "together", "differing", "combinations",
    "every_problem", "special", "finding_1", "finding_2", "middle_1", "middle_2", "pairs_1", "pairs_2", "shares_1",
    "shares_2", "course_1", "course_2", "report_headline", "report_picture", "choices",
})  # fmt: skip
_FUNCTION: Final = re.compile(r"(?m)^def (\w+)\(")


@dataclass(frozen=True, slots=True)
class TableNames:
    """One table's variables; its cells have the same names."""

    name: str
    """As the profile calls it."""
    table: str
    """Ready for use: typed, with the chosen repairs."""
    sources: tuple[str, ...]
    """An expression for the path of each of its files."""

    as_read: str
    """Exactly what the file holds."""
    repairs: str
    """The switches."""
    kept: str
    """The rows that stay."""
    dropped: str
    """Which rows each repair concerns: a dict of masks."""
    cleaned: str
    """Text without what surrounds it, and without words that stand for nothing."""
    text_counts: str
    """How many texts were cleaned: a dict."""
    typed: str
    """Text read as numbers, dates and flags."""
    read_counts: str
    """How many values needed more than a plain reading: a dict."""
    value_counts: str
    """How many values each repair concerns: a dict."""
    repaired: str
    """The log: repair, whether it is on, how much it touches."""
    counted: str
    """How many rows a database says there are, before they are read."""

    @classmethod
    def of(cls, name: str, table: str, sources: tuple[str, ...]) -> TableNames:
        """All names after the variable of the table that is ready for use."""
        return cls(name, table, sources, *(f"{table}_{field.name}" for field in fields(cls)[3:]))

    @property
    def source(self) -> str:
        """The expression for its one file, or for a list of all of them."""
        return self.sources[0] if len(self.sources) == 1 else f"[{', '.join(self.sources)}]"

    @property
    def variables(self) -> tuple[str, ...]:
        """All of them."""
        return (self.table, f"read_{self.table}", *(getattr(self, field.name) for field in fields(self)[3:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedColumn:
    """A column of a joined table, and where it comes from."""

    name: str
    """In the joined table: one of the right table is called otherwise where the left has that name too."""
    table: str
    column: ColumnProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedNames:
    """Two tables joined: every row of the left one, with what the right one knows of it."""

    variable: str
    left: TableNames
    right: TableNames
    join: Join
    left_key: ColumnProfile
    right_key: ColumnProfile
    columns: tuple[JoinedColumn, ...]

    @property
    def found(self) -> str:
        """The share of the left rows that found a partner."""
        return f"{self.variable}_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookNames:
    """What the analyst calls things in one notebook."""

    tables: tuple[TableNames, ...]
    """Those that are read; the profile may have more."""
    joined: tuple[JoinedNames, ...] = ()
    taken: frozenset[str] = field(default_factory=frozenset[str])
    """Names of the notebook before the analyst came, and all above."""

    def of(self, table: str) -> TableNames:
        """The names of a table by its name in the profile."""
        return next(names for names in self.tables if names.name == table)

    def is_read(self, table: str) -> bool:
        """Whether the table is in the notebook at all."""
        return any(names.name == table for names in self.tables)

    def fixed(self, name: str) -> str:
        """A name that everybody knows, such as `libraries`; another only where the notebook had that already."""
        return name if name not in self.taken else free_name(name, self.taken)

    def free(self, name: str, also: Collection[str] = ()) -> str:
        """The name, or the nearest one that neither the notebook nor `also` has. For variables and for cells."""
        return free_name(name, self.taken, also)


class Namer:
    """Gives each name once. One per section, whose names all end in a word of its own."""

    def __init__(self, names: NotebookNames) -> None:
        self._names = names
        self._given = set[str]()

    def __call__(self, name: str) -> str:
        """The name, or the nearest free one; it is taken from now on."""
        given = self._names.free(name, self._given)
        self._given.add(given)
        return given


def free_name(name: str, taken: Collection[str], also: Collection[str] = ()) -> str:
    """A plain identifier near `name` that nobody has; pytest takes none for a test."""
    plain = identifier(name)[:60].rstrip("_") or "data"
    plain = f"table_{plain}" if plain.startswith(("test", "data_folder")) else plain
    return numbered(plain, lambda name: name not in taken and name not in also and _is_usable(name))


def _is_usable(name: str) -> bool:
    is_of_python = keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name)
    return not (is_of_python or name in _RESERVED or name in _functions_of_ours())


@cache
def _functions_of_ours() -> frozenset[str]:
    """Functions whose source may stand in the notebook: no table is called like one."""
    room = Path(__file__).parent
    modules = sorted([*room.glob("methods/*.py"), *room.glob("sections/*.py")])
    return frozenset(name for module in modules for name in _FUNCTION.findall(module.read_text(encoding="utf-8")))


def name_tables(
    profile: Profile,
    paths: Mapping[str, str],
    taken: Collection[str] = frozenset(),
    *,
    wanted: AnalysisRequest | None = None,
) -> NotebookNames:
    """Names for the profile's tables. `paths`: each file or folder of the profile → its variable in `data_files`.

    `taken`: every variable and cell name of the notebook. Tables that the goal names come first where not all fit.
    """
    used = {*taken, *paths.values()}
    tables: list[TableNames] = []
    for table in _in_scope(profile, wanted):
        names = _named(table, paths, used)
        used.update(names.variables)
        tables.append(names)
    joined = _joined(profile, tables, used)
    used.update(name for joint in joined for name in (joint.variable, joint.found))
    return NotebookNames(tables=tuple(tables), joined=joined, taken=frozenset(used))


def _in_scope(profile: Profile, wanted: AnalysisRequest | None) -> list[TableProfile]:
    readable = [table for table in profile.tables if table.columns]
    asked = {named.table for named in (*wanted.measures, *wanted.groups)} if wanted else set[str]()
    chosen = sorted(readable, key=lambda table: table.name not in asked)[:MAX_TABLES]
    return [table for table in readable if table in chosen]


def _named(table: TableProfile, paths: Mapping[str, str], used: set[str]) -> TableNames:
    sources = tuple(_path(path, paths) for path in table.files or (table.reading.path,))
    plain = identifier(table.name)[:_MAX_NAME_LENGTH].rstrip("_") or "table"

    def names_after(candidate: str) -> TableNames:
        return TableNames.of(table.name, free_name(candidate, used), sources)

    return names_after(numbered(plain, lambda candidate: used.isdisjoint(names_after(candidate).variables)))


# ── where a file lies ──


def _path(path: str, paths: Mapping[str, str]) -> str:
    """The variable of the file, or the one of a folder above it and the way from there."""
    known = {PurePosixPath(each): variable for each, variable in paths.items()}
    wanted = PurePosixPath(path)
    for place in (wanted, *wanted.parents):
        if place in known:
            below = wanted.relative_to(place).as_posix()
            return known[place] if below == "." else f"{known[place]} / {literal(below)}"
    raise Defect(f"No cell of the notebook knows where {path!r} lies.")


# ── joins ──


def _joined(profile: Profile, tables: list[TableNames], used: set[str]) -> tuple[JoinedNames, ...]:
    """The best join of each table that may be on the left, a few at most."""
    by_name = {names.name: names for names in tables}
    found: dict[str, JoinedNames] = {}
    for join in profile.joins:
        # With the side that repeats on the left, as profiles have it, no row is counted twice.
        is_lookup = join.relation in ("many-to-one", "one-to-one")
        if not is_lookup or join.left in found or not {join.left, join.right} <= by_name.keys():
            continue
        if join.left_coverage < _MIN_COVERAGE or len(found) == MAX_JOINED or join.left == join.right:
            continue
        made = {name for joint in found.values() for name in (joint.variable, joint.found)}
        joint = _joint(profile, join, by_name[join.left], by_name[join.right], used | made)
        if joint is not None:
            found[join.left] = joint
    return tuple(found.values())


def _joint(profile: Profile, join: Join, left: TableNames, right: TableNames, used: set[str]) -> JoinedNames | None:
    """The names of a join; None where its keys cannot be compared."""
    tables = {table.name: table for table in profile.tables}
    keys = [(tables[join.left], join.left_column), (tables[join.right], join.right_column)]
    found = [column for table, name in keys for column in table.columns if column.name == name]
    kinds = {key.kind for key in found}
    # Whole numbers and text can be compared as text.
    if len(found) < 2 or not (kinds <= {"integer", "text"} or kinds in ({"date"}, {"datetime"})):
        return None
    left_key, right_key = found
    return JoinedNames(
        variable=free_name(f"{left.table[:26]}_with_{right.table[:26]}", used),
        left=left,
        right=right,
        join=join,
        left_key=left_key,
        right_key=right_key,
        columns=joined_columns(tables[join.left], tables[join.right], right.table, join),
    )


def joined_columns(
    left: TableProfile, right: TableProfile, right_variable: str, join: Join
) -> tuple[JoinedColumn, ...]:
    """The columns of the joined table in order; the right key is left out, it says what the left one says."""
    columns = [JoinedColumn(name=column.name, table=left.name, column=column) for column in left.columns]
    taken = {column.name for column in columns}
    for column in right.columns:
        if column.name == join.right_column:
            continue
        name = column.name
        while name in taken:
            name = f"{name}_{right_variable}"
        taken.add(name)
        columns.append(JoinedColumn(name=name, table=right.name, column=column))
    return tuple(columns)
