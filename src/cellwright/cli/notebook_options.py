"""Options of the commands that open a notebook. Light: `cellwright run` loads no kernel to read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from cellwright.errors import UserError

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A marimo notebook (.py).")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="A file or folder, read-only at data/NAME beside the notebook. Repeatable; NAME=PATH renames.",
    ),
]
FilesOption = Annotated[
    str, typer.Option("--files", metavar="keep|drop|direct", help="What becomes of files the notebook changes.")
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=VALUE",
        help="memory=2g, wall=20s, cpu=60s, processes=64, open_files=256, disk=1g, inodes=10000, tmp=256m, output=8m, "
        "kept_files=50000, kept_size=2g, keep_time=5m. Repeatable.",
    ),
]
ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project", metavar="DIR", help="The directory the notebook may see; default: its repository or folder."
    ),
]
RevealOption = Annotated[
    list[str] | None,
    typer.Option(
        "--reveal", metavar="PATH", help="Show a file that looks like a secret (relative to the project). Repeatable."
    ),
]
UncontainedOption = Annotated[
    bool, typer.Option("--allow-uncontained", help="Run even where nothing contains the code (tier D).")
]
TierOption = Annotated[
    str | None,
    typer.Option(
        "--tier", metavar="A|B|C|D", help="Run at this tier instead of the best one here; never a better one."
    ),
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long each of the two runs may take.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the signed proof here too.", dir_okay=False)
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Formatting warnings of marimo's linter fail too.")]
ProofOption = Annotated[
    Path | None,
    typer.Option("--proof", metavar="FILE", help="This proof instead of the stored one.", dir_okay=False),
]
PythonOption = Annotated[
    str,
    typer.Option(
        "--python",
        metavar="header|ours",
        help="header: an installed Python that the notebook's header allows. ours: Cellwright's own, whatever it says.",
    ),
]


def python_choice(word: str) -> Literal["header", "ours"]:
    """What was typed. Raises `UserError`."""
    choices: dict[str, Literal["header", "ours"]] = {"header": "header", "ours": "ours"}
    if word not in choices:
        raise UserError(
            f"Unknown --python {word!r}.",
            hint="header or ours. On which versions a notebook runs is said by `requires-python` in its header.",
        )
    return choices[word]


NotebookOptions = dict[str, Any]
"""How a notebook is to be opened: arguments of `open_notebook` and `verify_notebook`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookChoice:
    """What was typed."""

    as_json: JsonOption = False
    data: DataOption = None
    files: FilesOption = "keep"
    limit: LimitOption = None
    project: ProjectOption = None
    reveal: RevealOption = None
    tier: TierOption = None
    allow_uncontained: UncontainedOption = False
    python: PythonOption = "header"

    def read(self) -> NotebookOptions:
        """What it means. Raises `UserError`."""
        from cellwright.app.notebook_choice import TypedOptions, open_options

        return open_options(TypedOptions(**self.words()))

    def words(self) -> dict[str, Any]:
        """What was typed, as plain values. Raises `UserError` for a word that is none of its option's."""
        from cellwright.sandbox.spec import FilesMode, Tier

        if self.files not in get_args(FilesMode):
            raise UserError(f"Unknown --files {self.files!r}.", hint="keep, drop or direct.")
        if self.tier is not None and self.tier.upper() not in get_args(Tier):
            raise UserError(f"Unknown --tier {self.tier!r}.", hint="A, B, C or D.")
        return {
            "files": self.files,
            "data": self.data or [],
            "reveal": self.reveal or [],
            "limits": self.limit or [],
            "project": str(self.project) if self.project is not None else None,
            "tier": self.tier.upper() if self.tier is not None else None,
            "allow_uncontained": self.allow_uncontained,
            "python": python_choice(self.python),
        }
