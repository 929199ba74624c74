"""The few settings of a repository that are honoured: how objects are named and files compared. None runs a program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cellwright.sandbox.git.objects import Format, Unsound

_SECTION: Final = re.compile(r"\s*\[\s*([A-Za-z0-9.-]+)\s*(\"(?:[^\"\\]|\\.)*\")?\s*\]\s*(.*)")
_SETTING: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_FALSE: Final = {"false", "no", "off", "0", ""}

_KEPT: Final = {
    "filemode": re.compile("true|false", re.IGNORECASE),
    "ignorecase": re.compile("true|false", re.IGNORECASE),
    "symlinks": re.compile("true|false", re.IGNORECASE),
    "precomposeunicode": re.compile("true|false", re.IGNORECASE),
    "autocrlf": re.compile("true|false|input", re.IGNORECASE),
    "eol": re.compile("lf|crlf|native", re.IGNORECASE),
}
"""Of `core`, with the values they may have. Everything else (programs, hooks, includes) is not passed on."""
_HARMLESS_EXTENSIONS: Final = {"noop", "preciousobjects", "worktreeconfig", "partialclone", "relativeworktrees"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryConfig:
    """What is taken from a repository's settings."""

    format: Format
    core: tuple[tuple[str, str], ...] = ()
    is_bare: bool = False


def read_config(text: str) -> RepositoryConfig:
    """The honoured settings of a `config` file. `Unsound` for a repository of a kind we cannot read."""
    settings = _settings(text)
    version = settings.get(("core", "repositoryformatversion"), "0")
    extensions = {name: value for (section, name), value in settings.items() if section == "extensions"}
    if version not in {"0", "1"}:
        raise Unsound(f"it has the format version {version[:20]!r}")
    unknown = extensions.keys() - _HARMLESS_EXTENSIONS - {"objectformat", "refstorage"}
    if version == "1" and unknown:
        raise Unsound(f"it uses the extension {min(unknown)[:50]!r}")
    if version == "1" and extensions.get("refstorage", "files").lower() != "files":
        raise Unsound("it keeps its references in another form than files")
    name = extensions.get("objectformat", "sha1").lower() if version == "1" else "sha1"
    if name not in {"sha1", "sha256"}:
        raise Unsound(f"it names its objects by {name[:20]!r}")
    kept = [
        (key, value.lower())
        for key, form in _KEPT.items()
        if (value := settings.get(("core", key))) is not None and form.fullmatch(value)
    ]
    is_bare = settings.get(("core", "bare"), "false").lower() not in _FALSE
    return RepositoryConfig(format=Format("sha256" if name == "sha256" else "sha1"), core=tuple(kept), is_bare=is_bare)


def _settings(text: str) -> dict[tuple[str, str], str]:
    """Plain settings by section and name, in lower case; those of named subsections are left out."""
    found: dict[tuple[str, str], str] = {}
    section = ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        rest = line
        match = _SECTION.fullmatch(line)
        if match is not None:
            section = "" if match[2] else match[1].lower()
            rest = match[3]
        setting = _SETTING.fullmatch(rest)
        if setting is not None and section:
            value = "true" if setting[2] is None else re.sub(r"\s*[#;].*", "", setting[2]).strip().strip('"')
            found[section, setting[1].lower()] = value
    return found
