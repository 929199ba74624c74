"""`cellwright project show|trust|list|revoke`: which roles and skills of a project agents go by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.agents.project_additions import Addition, fingerprint_of
from cellwright.agents.trust_question import question_text, title
from cellwright.agents.trust_store import Acceptance, TrustedProject, TrustStore
from cellwright.cli.journal_options import JsonOption, terminal_masker
from cellwright.cli.render import console, project_tables
from cellwright.cli.render.console import is_interactive
from cellwright.cli.terminal_input import ask_line, person_here
from cellwright.errors import UserError
from cellwright.sandbox.host.project import project_of
from cellwright.settings import Settings

app = typer.Typer(
    help="The roles and skills a project brings along, and which of them you have accepted.", no_args_is_help=True
)

REFUSED = 3
ProjectArgument = Annotated[
    Path | None, typer.Argument(metavar="PROJECT", help="Its folder; default: the project this folder is in.")
]


@app.command()
def show(project: ProjectArgument = None, as_json: JsonOption = False) -> None:
    """Show what a project brings along, what of it counts, and the fingerprint of the rest."""
    seen = _store().look_at(_folder(project))
    console.result(_view(seen), as_json, project_tables.project)


@app.command()
def trust(
    project: ProjectArgument = None,
    fingerprint: Annotated[
        str | None, typer.Option("--fingerprint", metavar="F", help="What you were shown; does not ask again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Accept what a project brings along, after seeing it; exit 3 if it is not what you were shown."""
    store = _store()
    seen = store.look_at(_folder(project))
    view = _view(seen)
    if not seen.offered:
        console.result(view, as_json, "Nothing here waits to be accepted.")
        return
    if fingerprint is not None and fingerprint != view["fingerprint"]:
        console.result(
            {"refused": "not-what-was-shown", "message": "This is not what you were shown."}, as_json, console.refusal
        )
        raise typer.Exit(REFUSED)
    if fingerprint is None and not _confirm(view, as_json=as_json):
        console.note("Not accepted.")
        raise typer.Exit(1)
    store.accept(seen.project, seen.offered, by=person_here().name)
    accepted = f"Accepted: {', '.join(map(title, seen.offered))}."
    console.result(_view(store.look_at(seen.project)), as_json, accepted)


@app.command("list")
def list_command(as_json: JsonOption = False) -> None:
    """List everything you have accepted, by project."""
    found = [_acceptance(each) for each in _store().all()]
    console.result({"accepted": found}, as_json, lambda _: project_tables.acceptances(found))


@app.command()
def revoke(project: ProjectArgument = None, as_json: JsonOption = False) -> None:
    """Take back what you have accepted in a project, even if it is gone by now; runs at work go on as they began."""
    folder = _folder(project, may_be_gone=True)
    revoked = _store().revoke(folder)
    if not revoked:
        raise UserError(f"Nothing of {str(folder)!r} is accepted.", hint="`cellwright project list` shows what is.")
    found = [_acceptance(each) for each in revoked]
    console.result({"revoked": found}, as_json, f"Revoked: {', '.join(each['path'] for each in found)}.")


def _store() -> TrustStore:
    return TrustStore(Settings.read().ready_home())


def _folder(named: Path | None, *, may_be_gone: bool = False) -> Path:
    """The project that is meant. Raises `UserError`."""
    if named is None:
        return project_of(Path.cwd() / "notebook.py")
    folder = named.resolve()
    if not may_be_gone and not folder.is_dir():
        raise UserError(f"{str(named)!r} is no folder.", hint="Name the folder of a project.")
    return folder


def _confirm(view: dict[str, Any], *, as_json: bool) -> bool:
    if as_json or not is_interactive():
        raise UserError(
            "Nobody is at this terminal to see what is accepted.",
            hint="Look with `cellwright project show`, then add the --fingerprint it shows.",
        )
    project_tables.question(view)
    return (anyio.run(ask_line, "Accept it? [y/N]") or "").lower() in {"y", "yes"}


# ── as plain JSON values ──


def _view(seen: TrustedProject) -> dict[str, Any]:
    masker = terminal_masker()
    return {
        "project": str(seen.project),
        "accepted": [_addition(each) for each in seen.accepted],
        "offered": [
            _addition(each) | {"state": "changed" if each.path in seen.before else "new"} for each in seen.offered
        ],
        "fingerprint": fingerprint_of(seen.offered) if seen.offered else "",
        "what": question_text(seen, lambda text: masker.mask(text).text) if seen.offered else "",
    }


def _addition(addition: Addition) -> dict[str, Any]:
    return {"kind": addition.kind, "name": addition.name, "path": addition.path, "sha256": addition.sha256}


def _acceptance(said: Acceptance) -> dict[str, Any]:
    return {"project": said.project, **_addition(said.addition), "by": said.by, "at": said.at.isoformat()}
