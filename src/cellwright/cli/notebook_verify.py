"""`cellwright notebook verify|proof`: what can be typed. What they do is in `notebook_proofs`, loaded when called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellwright.cli.notebook import (
    DataOption,
    FileArgument,
    JsonOption,
    LimitOption,
    ProjectOption,
    RevealOption,
    TierOption,
    UncontainedOption,
    _options,
    app,
)
from cellwright.cli.python_option import PythonOption

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


@app.command()
def verify(
    file: FileArgument,
    as_json: JsonOption = False,
    data: DataOption = None,
    limit: LimitOption = None,
    project: ProjectOption = None,
    reveal: RevealOption = None,
    tier: TierOption = None,
    allow_uncontained: UncontainedOption = False,
    timeout: TimeoutOption = 600,
    strict: StrictOption = False,
    python: PythonOption = "header",
    out: OutOption = None,
) -> None:
    """Run a notebook twice from scratch, compare, check, and store a signed proof if all is well."""
    from cellwright.cli import notebook_proofs

    options = _options(data, "drop", limit, project, reveal, tier, allow_uncontained, python)
    wanted = notebook_proofs.VerifyOptions(
        files=options.files,
        limits=options.limits,
        tier=options.tier,
        allow_uncontained=options.allow_uncontained,
        python=options.python,
        seconds=timeout,
        is_strict=strict,
        out=out,
    )
    raise typer.Exit(notebook_proofs.verify_now(file, wanted, as_json=as_json))


@app.command()
def proof(
    file: FileArgument,
    as_json: JsonOption = False,
    proof: ProofOption = None,
    data: DataOption = None,
    project: ProjectOption = None,
) -> None:
    """Check a notebook's proof: who signed it, and exactly what has changed since. Nothing is run."""
    from cellwright.cli import notebook_proofs

    options = _options(data, "drop", None, project, None, None, False)
    raise typer.Exit(notebook_proofs.check_now(file, proof, options.files, as_json=as_json))
