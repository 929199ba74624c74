"""The cell of the analyst's notebook through which everything behind a connection is reached."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.data.remote_paths import RemotePath
from cellwright.notebook.source_text import literal, numbered, variable_name

CONNECTIONS_CELL: Final = "connections"
_DATABASES: Final = (
    "# Every database is asked through this cell: another connection in its place is all there is to change."
)
_FILES: Final = (
    "# Every file behind a connection is reached through this cell: where it moves, or is here, only this cell changes."
)
_IMPORT: Final = "import cellwright_cells as cellwright"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionNames:
    """What the notebook calls what is behind connections."""

    databases: Mapping[str, str]
    """Variables by connection, as those of `stores`."""
    stores: Mapping[str, str]
    files: Mapping[RemotePath, str]
    """Variables of files and folders; those without a path are the store itself."""

    @classmethod
    def of(
        cls, databases: Iterable[str], remote: Sequence[RemotePath], taken: Collection[str], single: Collection[str]
    ) -> ConnectionNames:
        """Each its name, where that is free. `single`: addresses of files, all others being folders."""
        asked, stores = tuple(databases), tuple(dict.fromkeys(each.connection for each in remote))
        names = _variables((*asked, *stores), taken)
        used, files = {*taken, *names.values()}, dict[RemotePath, str]()
        for each in remote:
            last = each.path.rpartition("/")[2]
            is_folder = each.address not in single
            files[each] = variable_name(last, is_folder=is_folder, taken=used) if last else names[each.connection]
            used.add(files[each])
        return cls(
            databases={name: names[name] for name in asked}, stores={name: names[name] for name in stores}, files=files
        )

    @property
    def sources(self) -> dict[str, str]:
        """By what the profile calls them."""
        return {**self.databases, **{remote.address: variable for remote, variable in self.files.items()}}

    def code(self, *, has_import: bool) -> str:
        """The cell through which everything behind a connection is asked; empty: there is nothing."""
        lines = [f"{variable} = cellwright.connection({literal(name)})" for name, variable in self.databases.items()]
        lines = [*([_DATABASES] if lines else []), *([] if has_import else [_IMPORT, ""]), *lines]
        if self.stores:
            lines += [_FILES] if self.databases else []
            lines += [f"{variable} = cellwright.files({literal(name)})" for name, variable in self.stores.items()]
            lines += [
                f"{variable} = {self.stores[remote.connection]} / {literal(remote.path)}"
                for remote, variable in self.files.items()
                if remote.path
            ]
        comment = [] if self.databases else [_FILES]
        return "\n".join([*comment, *lines]) if self.sources else ""


def _variables(connections: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    used, names = set(taken), dict[str, str]()
    for connection in connections:
        names[connection] = numbered(connection, lambda name: name not in used)
        used.add(names[connection])
    return names
