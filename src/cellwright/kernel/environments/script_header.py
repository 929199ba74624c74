"""What a notebook asks for: its PEP 723 header, checked, and never obeyed where it would read or run host things."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from cellwright.errors import UserError
from cellwright.kernel.environments.interpreters import Interpreter

HEADER_LIMIT_CHARS = 64 * 1024
DEPENDENCIES_LIMIT = 256
_REQUIREMENT_LIMIT_CHARS = 512
_PYTHON_LIMIT_CHARS = 200
_HARMLESS_UV_KEYS = frozenset({"compile-bytecode", "link-mode", "managed", "no-build", "no-build-package", "package"})

CELLS = "cellwright-cells"
"""What notebooks write: on the path of every kernel, so it is never installed for one."""
_OUR_PACKAGES = ("marimo", "msgspec")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptHeader:
    """What a notebook's `# /// script` block asks for, checked and in one spelling."""

    dependencies: tuple[str, ...] = ()
    """Names with extras, versions and markers; never a URL, a path or an option."""
    requires_python: str = ""


def header_of(source: str) -> ScriptHeader | None:
    """The PEP 723 header of a notebook, or None if it has none; a bad one is a `UserError`.

    Anything that would make the host read a file, clone a repository, talk to an address chosen by the notebook or
    install another package than the named one is refused: direct references and nearly all of `[tool.uv]`.
    """
    blocks = _script_blocks(source)
    if not blocks:
        return None
    if len(blocks) > 1:
        raise UserError(f"The notebook has {len(blocks)} `# /// script` headers.", hint="Keep one of them.")
    table = _parse_toml(blocks[0])
    _refuse_uv_settings(table.get("tool"))
    return ScriptHeader(
        dependencies=_dependencies(table.get("dependencies", [])),
        requires_python=_requires_python(table.get("requires-python", "")),
    )


def _script_blocks(source: str) -> list[str]:
    # By hand and linear: the regular expression of PEP 723 is quadratic in a file full of opening lines.
    blocks: list[str] = []
    opened: int | None = None
    closed: int | None = None
    lines = [line.removesuffix("\r") for line in source.split("\n")]
    for number, line in enumerate([*lines, ""]):
        if line != "#" and not line.startswith("# "):
            if opened is not None and closed is not None and lines[opened] == "# /// script":
                blocks.append("\n".join(inner[2:] for inner in lines[opened + 1 : closed]))
            opened = closed = None
        elif opened is None:
            opened = number if re.fullmatch(r"# /// [a-zA-Z0-9-]+", line) else None
        elif line == "# ///" and number > opened + 1:
            closed = number
    return blocks


def _parse_toml(text: str) -> dict[str, Any]:
    if len(text) > HEADER_LIMIT_CHARS:
        raise UserError(
            f"The notebook's `# /// script` header has {len(text)} characters.",
            hint=f"{HEADER_LIMIT_CHARS} are allowed.",
        )
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"The notebook's `# /// script` header is not valid TOML: {bounded(str(error), 200)}",
            hint='It should look like `# dependencies = ["pandas>=2"]` between `# /// script` and `# ///`.',
        ) from error


def _refuse_uv_settings(tool: object) -> None:
    table = cast("dict[str, object]", tool).get("uv", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UserError("`tool.uv` in the notebook's header is not a table.", hint="Remove it.")
    for key, value in cast("dict[str, object]", table).items():
        if key not in _HARMLESS_UV_KEYS and value not in ({}, []):
            raise UserError(
                f"The notebook's header sets `tool.uv` {quoted(key)}, which a notebook may not decide.",
                hint="Remove it. Package indexes and folders of wheels belong in Cellwright's own settings.",
            )


def _dependencies(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else None
    if items is None or not all(isinstance(item, str) for item in items):
        raise UserError(
            "`dependencies` in the notebook's header is not a list of strings.",
            hint='It should look like `dependencies = ["pandas>=2"]`.',
        )
    if len(items) > DEPENDENCIES_LIMIT:
        raise UserError(
            f"The notebook's header lists {len(items)} dependencies.", hint=f"{DEPENDENCIES_LIMIT} are allowed."
        )
    return tuple(sorted({normal_requirement(cast("str", item)) for item in items}))


def normal_requirement(text: str) -> str:
    """A dependency in the one spelling; a URL, a path or an option is a `UserError`."""
    requirement = _parse_requirement(text)
    if requirement.url is not None:
        raise UserError(
            f"The notebook's header asks for {quoted(text)}: files, URLs and repositories are not installed.",
            hint=f"Ask for a released version by name, such as {requirement.name!r} or '{requirement.name}>=1'.",
        )
    return _spell(requirement) + (f" ; {requirement.marker}" if requirement.marker else "")


def _parse_requirement(text: str) -> Requirement:
    with suppress(InvalidRequirement, RecursionError):
        if len(text) <= _REQUIREMENT_LIMIT_CHARS and text.isascii() and text.isprintable():
            requirement = Requirement(text)
            # `===` compares arbitrary text, so it could smuggle anything into the requirements file.
            if all(one.operator != "===" for one in requirement.specifier):
                return requirement
    raise UserError(
        f"The notebook's header asks for {quoted(text)}, which is not a package name with versions.",
        hint="Write each dependency like 'pandas', 'pandas>=2' or 'pandas[excel]==2.2.3'; no options, no paths.",
    )


def _spell(requirement: Requirement) -> str:
    extras = ",".join(sorted(canonicalize_name(extra) for extra in requirement.extras))
    versions = ",".join(sorted(str(one) for one in requirement.specifier))
    return canonicalize_name(requirement.name) + (f"[{extras}]" if extras else "") + versions


def _requires_python(value: object) -> str:
    with suppress(InvalidSpecifier):
        if isinstance(value, str) and len(value) <= _PYTHON_LIMIT_CHARS and value.isascii() and value.isprintable():
            return ",".join(sorted(str(one) for one in SpecifierSet(value)))
    raise UserError(
        f"`requires-python` in the notebook's header is {quoted(value)}, which names no versions.",
        hint='It should look like `requires-python = ">=3.11"`.',
    )


def requirements_for(header: ScriptHeader, interpreter: Interpreter) -> tuple[str, ...]:
    """The header's packages that apply on this Python plus our own; one that contradicts ours is a `UserError`."""
    ours = {name: importlib.metadata.version(name) for name in (*_OUR_PACKAGES, CELLS)}
    asked = [Requirement(normal_requirement(text)) for text in header.dependencies]
    asked = [requirement for requirement in asked if _applies(requirement, interpreter)]
    for requirement in asked:
        version = ours.get(canonicalize_name(requirement.name))
        if version is not None and not requirement.specifier.contains(version, prereleases=True):
            raise UserError(
                f"The notebook asks for {_spell(requirement)!r}, and Cellwright runs notebooks "
                f"with '{requirement.name}=={version}'.",
                hint=f"Ask for {requirement.name!r} without a version, or for one that allows {version}.",
            )
    exact = {f"{name}=={ours[name]}" for name in _OUR_PACKAGES}
    others = (requirement for requirement in asked if canonicalize_name(requirement.name) != CELLS)
    return tuple(sorted(exact | {_spell(requirement) for requirement in others}))


def cells_requirement() -> str:
    """How a header asks for what notebooks write: later versions do as well. Blocking."""
    return f"{CELLS}>={importlib.metadata.version(CELLS)}"


def _applies(requirement: Requirement, interpreter: Interpreter) -> bool:
    try:
        return requirement.marker is None or requirement.marker.evaluate(interpreter.markers)
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError, RecursionError) as error:
        raise UserError(
            f"The condition in {quoted(str(requirement))} cannot be decided.",
            hint='Conditions look like `; python_version >= "3.11"`.',
        ) from error


def quoted(value: object) -> str:
    """A value of the header as it may stand in a message."""
    return ascii(value if isinstance(value, str | int | float) else type(value).__name__)[:120]


def bounded(text: str, limit_chars: int) -> str:
    """One printable line without passwords, with its middle left out if it is too long."""
    line = re.sub(r"://[^/@\s]+@", "://****@", " ".join(text.split()))
    line = "".join(character if character.isprintable() else "�" for character in line)
    half = limit_chars // 2
    return line if len(line) <= limit_chars else f"{line[:half]} … {line[-half:]}"
