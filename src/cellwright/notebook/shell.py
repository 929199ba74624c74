"""What stands around a cell's body in the file: decorator, signature, return."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Final, Literal, assert_never

_INDENT: Final = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """What marimo writes around one cell's body."""

    kind: Literal["cell", "definition", "setup", "unparsable"]
    decorator: str = ""
    signature: str = ""
    returns: str = ""
    """`return (x,)`, its first line not indented."""
    has_blank_before_return: bool = False


def placeholder_of(code: str) -> str:
    """As many lines as the code, since marimo counts them; never the code itself, whose strings it would re-indent."""
    return "\n".join(["..."] * (code.rstrip().count("\n") + 1))


def cut_shell(generated: str, placeholder: str) -> Shell:
    """The shell in what marimo generated around a placeholder."""
    head, _, returns = generated.partition(f"\n{textwrap.indent(placeholder, _INDENT)}\n")
    definition = re.search(r"^(async )?def ", head, re.MULTILINE)
    assert definition is not None, "marimo writes a function for every cell"
    return Shell(
        kind="cell",
        decorator=head[: definition.start() - 1],
        signature=head[definition.start() :],
        returns=returns.strip(),
        has_blank_before_return=returns.startswith("\n"),
    )


def wrap(code: str, shell: Shell, *, needs_pass: bool) -> str:
    """The code in its shell, if it has one; `needs_pass` for a setup cell of comments alone, which Python refuses."""
    match shell.kind:
        case "cell":
            body = [_indented(code)] if code else []
            blank = [""] if shell.has_blank_before_return else []
            return "\n".join([shell.decorator, shell.signature, *body, *blank, _INDENT + shell.returns])
        case "definition":
            return f"{shell.decorator}\n{code}"
        case "setup":
            return "\n".join([shell.signature, _indented(code), *([_INDENT + "pass"] if needs_pass else [])])
        case "unparsable":
            return code
        case _:
            assert_never(shell.kind)


def _indented(code: str) -> str:
    # textwrap.indent would also break lines at form feeds and leave blank lines of strings alone: both change strings.
    return "\n".join(_INDENT + line if line else line for line in code.split("\n"))
