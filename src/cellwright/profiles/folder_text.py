"""Folders in a few lines: how many files of which kind lie where, and which of them are alike. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from pathlib import PurePosixPath
from typing import Final

from cellwright.notebook.prompt_summary import estimate_tokens
from cellwright.profiles.data_search import natural
from cellwright.profiles.file_groups import RankedGroups
from cellwright.profiles.profile import Profile, spoken
from cellwright.profiles.profile_view import many, shown

FEW_FILES: Final = 3
"""So many need no tree: each is told by itself."""
_FEW_PARTS: Final = 8
_SPOKEN_PARTS: Final = 3
_MOST_NAMED_KINDS: Final = 12
_LEAST_IN_COMMON: Final = 8
"""Characters that are worth being told once."""
_BOUNDS: Final = " _-.,()[]"
_COUNT_TOKENS: Final = 12
_FOLDER: Final = "{folder}"
_LEAST_FOLDER_NAME: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alike:
    """Files of one folder and one kind: of one shape, or each for itself."""

    kind: str
    shape: int
    """Number of the shape they share; -1: none."""
    pattern: str
    """What their names have in common, with `*`; empty: nothing much."""
    parts: tuple[str, ...]
    """What tells them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    path: str
    contents: tuple[_Alike, ...]


def folder_tree(profile: Profile, ranked: RankedGroups, *, tokens: int) -> str:
    """What lies where, a line for each folder, folders that hold the same together; empty where there are few files."""
    shapes = {
        path: number for number, group in enumerate(ranked.groups) if len(group.files) > 1 for path in group.files
    }
    tables = [path for group in ranked.groups for path in group.paths]
    every = list(dict.fromkeys([*tables, *(each.path for each in profile.skipped), *profile.others]))
    if len(every) <= FEW_FILES:
        return ""
    root = _common_folder(every)
    head = f"{many(len(every), 'file')} in {shown(root or './')}: {_kinds(every)}"
    folders = [_folder(path, names, shapes) for path, names in _by_folder(every)]
    lines = [_line(alike, root, ranked.words) for alike in _together(folders)]
    return "\n".join([head, *_fitting(lines, tokens - estimate_tokens(head) - 1)])


def kind_of(path: str) -> str:
    """The ending of a file's name, in small letters; `.gz` counts with the one before."""
    name = PurePosixPath(path.lower())
    ending = "".join(name.suffixes[-2:]) if name.suffix == ".gz" else name.suffix
    return shown(ending.removeprefix(".")) if ending else "without ending"


def split_common(names: Sequence[str]) -> tuple[str, str]:
    """What all names begin and end with, cut between words, so that no part that tells them apart is cut."""
    if len(names) < 2:
        return "", ""
    prefix = _common_start(names)
    while prefix and prefix[-1] not in _BOUNDS:
        prefix = prefix[:-1]
    rests = [name[len(prefix) :] for name in names]
    suffix = _common_start([rest[::-1] for rest in rests])[::-1]
    while suffix and suffix[0] not in _BOUNDS:
        suffix = suffix[1:]
    # A name that is nothing but what all have would be left without a part of its own.
    return ("", "") if any(len(rest) <= len(suffix) for rest in rests) else (prefix, suffix)


def _common_start(texts: Sequence[str]) -> str:
    """Character by character, between words or not."""
    least, greatest = min(texts), max(texts)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(least, greatest, strict=False)))
    return least[:same]


def _common_folder(paths: Sequence[str]) -> str:
    """The folder that all lie in, with `/` behind it; empty: that of the notebook."""
    prefix = _common_start([path.rpartition("/")[0] + "/" for path in paths])
    return prefix[: prefix.rfind("/") + 1].removeprefix("/")


def _by_folder(paths: Iterable[str]) -> list[tuple[str, list[str]]]:
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    return [(folder, sorted(names, key=natural)) for folder, names in sorted(folders.items())]


def _folder(path: str, names: Sequence[str], shapes: Mapping[str, int]) -> _Folder:
    alike: dict[tuple[str, int], list[str]] = {}
    for name in names:
        whole = f"{path}/{name}" if path else name
        alike.setdefault((kind_of(name), shapes.get(whole, -1)), []).append(name)
    own = path.rpartition("/")[2]
    return _Folder(path=path, contents=tuple(_alike(kind, shape, names, own) for (kind, shape), names in alike.items()))


def _alike(kind: str, shape: int, names: Sequence[str], folder: str) -> _Alike:
    prefix, suffix = split_common(names)
    if len(prefix) + len(suffix) < _LEAST_IN_COMMON and shape < 0:
        prefix, suffix = "", ""
    parts = tuple(name[len(prefix) : len(name) - len(suffix)] for name in names)
    # The kind says what a name ends with.
    is_pattern = bool(prefix) or suffix.lower() not in ("", f".{kind}")
    pattern = f"{prefix}*{suffix}" if is_pattern else ""
    # 2022/*_2022.csv and 2023/*_2023.csv are one pattern.
    pattern = pattern.replace(folder, _FOLDER) if len(folder) >= _LEAST_FOLDER_NAME else pattern
    return _Alike(kind=kind, shape=shape, pattern=pattern, parts=parts)


def _together(folders: Sequence[_Folder]) -> list[tuple[_Folder, list[str]]]:
    """Neighbours in one folder that hold the same, each kind with the paths of all."""
    found: list[tuple[_Folder, list[str]]] = []
    for _, same in groupby(folders, key=lambda folder: (folder.path.rpartition("/")[0], folder.contents)):
        group = list(same)
        found.append((group[0], [folder.path for folder in group]))
    return found


def _line(alike: tuple[_Folder, list[str]], root: str, words: Sequence[str]) -> str:
    folder, paths = alike
    place = shown(f"{folder.path}/".removeprefix(root or "/") or "./")
    if len(paths) > 1:
        between = " … " if len(paths) > 2 else ", "
        place += f"{between}{shown(paths[-1].rpartition('/')[2] + '/')} ({len(paths):,} folders alike), each"
    own = folder.path.rpartition("/")[2] if len(paths) == 1 else _FOLDER
    contents = (replace(each, pattern=each.pattern.replace(_FOLDER, own)) for each in folder.contents)
    return f"  {place}: {'; '.join(_content(each, words) for each in contents)}"


def _content(alike: _Alike, words: Sequence[str]) -> str:
    count = f"{len(alike.parts):,} {alike.kind}"
    shape = " of one shape" if alike.shape >= 0 and len(alike.parts) > 1 else ""
    pattern = f" {shown(alike.pattern)}" if alike.pattern else ""
    return f"{count}{shape}{pattern}: {_listed(alike.parts, words)}"


def _listed(parts: Sequence[str], words: Sequence[str]) -> str:
    """All of a few; of many the first, those that speak of the goal, and the last."""
    if len(parts) <= _FEW_PARTS:
        return ", ".join(map(shown, parts))
    between = [part for part in parts[1:-1] if spoken(part, words)][:_SPOKEN_PARTS]
    return " … ".join(map(shown, (parts[0], *between, parts[-1])))


def _kinds(paths: Iterable[str]) -> str:
    counts = Counter(map(kind_of, paths)).most_common()
    told = ", ".join(f"{count:,} {kind}" for kind, count in counts[:_MOST_NAMED_KINDS])
    rest = sum(count for _, count in counts[_MOST_NAMED_KINDS:])
    return f"{told}, {rest:,} of other kinds" if rest else told


def _fitting(lines: Sequence[str], tokens: int) -> list[str]:
    kept: list[str] = []
    left = tokens - _COUNT_TOKENS
    for line in lines:
        left -= estimate_tokens(line) + 1
        if left < 0:
            return [*kept, f"  and {many(len(lines) - len(kept), 'more folder')}"]
        kept.append(line)
    return kept
