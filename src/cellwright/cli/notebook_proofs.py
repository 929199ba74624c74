"""Verifying a notebook and checking its proof, for the command line."""

from __future__ import annotations

import dataclasses
import json
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from rich.console import Console
from rich.text import Text

from cellwright.app import Files, open_pool
from cellwright.app.notebooks import contained, terrain_for
from cellwright.cli.render import console
from cellwright.cli.render.remedies import hint_text
from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.kernel import KernelOptions, PythonChoice
from cellwright.kernel.environments.additions import distributions_in
from cellwright.kernel.environments.interpreters import our_interpreter
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.process.zygote import package_paths
from cellwright.notebook import NotebookFile, read
from cellwright.notebook.atomic_write import write_atomically
from cellwright.policy import Masker
from cellwright.runs.verify import (
    SOURCE_NOTES,
    FileLocations,
    Machine,
    NotVerified,
    Proof,
    ProofStatus,
    ProofStore,
    Signer,
    StoredProof,
    Verified,
    fingerprint,
    fresh_environments,
    fresh_packages,
    hint_of,
    parse,
    proof_status,
    text_of,
    to_json,
    tools_here,
    verify,
)
from cellwright.sandbox import Limits, Tier, probe
from cellwright.settings import Settings

_CHANGES = 30
_data = Console(highlight=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """How a notebook is to be verified."""

    files: Files
    limits: Limits
    tier: Tier | None
    allow_uncontained: bool
    python: PythonChoice
    seconds: float
    is_strict: bool
    out: Path | None


# ── verify ──


def verify_now(path: Path, wanted: VerifyOptions, *, as_json: bool) -> int:
    """Verify, keep the proof, tell; the exit code."""
    settings = Settings.read()
    if wanted.out is not None and wanted.out.resolve() == path.resolve():
        raise UserError("--out names the notebook itself.", hint="A proof never goes into the notebook.")
    result, terrain = anyio.run(_verified, path, wanted, settings)
    stored = None
    if isinstance(result, Verified):
        stored = ProofStore(home=settings.ready_home()).put(result.signed, path.resolve(), terrain.data)
        if wanted.out is not None:
            _write(wanted.out, to_json(result.signed))
    view = _view(result, stored)
    if as_json:
        console.as_json(view)
    else:
        _show(view)
    return 0 if isinstance(result, Verified) else 1


async def _verified(
    path: Path, wanted: VerifyOptions, settings: Settings
) -> tuple[Verified | NotVerified, KernelOptions]:
    file = await anyio.to_thread.run_sync(read, path)
    tier = contained(wanted.tier, await anyio.to_thread.run_sync(probe), allow_uncontained=wanted.allow_uncontained)
    terrain = terrain_for(
        file,
        files=wanted.files,
        limits=wanted.limits,
        tier=tier,
        settings=settings,
        python=wanted.python,
        on_progress=console.note,
    )
    signer = await anyio.to_thread.run_sync(lambda: Signer.at(settings.ready_home()))
    async with open_pool(settings) as pool:
        result = await verify(
            path,
            open_fresh=fresh_environments(pool, terrain),
            signer=signer,
            machine=machine_of(settings, terrain.project),
            masker=Masker.of(salt=secrets.token_bytes(16)),
            seconds=wanted.seconds,
            is_strict=wanted.is_strict,
            on_progress=console.note,
        )
    return result, terrain


def machine_of(settings: Settings, project: Path) -> Machine:
    """The places of this machine that a notebook must not name."""
    temporary = Path(tempfile.gettempdir())
    return Machine(
        home=settings.user_home, state=settings.home, temporary=temporary, project=project, cache=settings.cache
    )


def _write(place: Path, content: bytes) -> None:
    try:
        write_atomically(place, content)
    except OSError as error:
        raise Unavailable(
            f"The proof could not be written to {str(place)!r}: {error.strerror}.",
            hint="It is stored all the same: `cellwright notebook proof` finds it. Name another --out.",
        ) from error


def _view(result: Verified | NotVerified, stored: Path | None) -> dict[str, Any]:
    report = result.report
    reasons = result.reasons if isinstance(result, NotVerified) else ()
    return {
        "verified": isinstance(result, Verified),
        "reasons": [
            {"kind": type(reason).__name__, "text": text_of(reason), "hint": hint_text(hint_of(reason))}
            for reason in reasons
        ],
        "cells": [
            {"id": cell.place.cell, "label": cell.place.label, "status": cell.status, "same": cell.is_same}
            for cell in report.cells
        ],
        "checks": [dataclasses.asdict(check) for check in report.checks],
        "lint": [dataclasses.asdict(finding) for finding in report.findings],
        "data": [dataclasses.asdict(data) for data in report.data],
        "environment": {
            "has_header": report.has_header,
            "packages": dict(report.packages),
            "python": report.python,
            "source": report.source,
        },
        "tier": report.tier,
        "proof": json.loads(to_json(result.signed)) if isinstance(result, Verified) else None,
        "stored": str(stored) if stored is not None else None,
    }


def _show(view: Mapping[str, Any]) -> None:
    for reason in view["reasons"]:
        _say("✗", reason["text"], "red")
        if reason["hint"]:
            console.people.print(Text(f"  hint: {reason['hint']}", style="cyan"))
    for check in view["checks"]:
        is_good = check["outcome"] in ("passed", "skipped")
        _say("✓" if is_good else "✗", f"check {check['name']}: {check['outcome']}", "green" if is_good else "red")
    for finding in view["lint"]:
        if finding["severity"] == "formatting":
            _say("!", f"line {finding['line']}: {finding['message']} ({finding['code']})", "yellow")
    if view["verified"]:
        header = view["environment"]["has_header"]
        packages = f"{len(view['environment']['packages'])} packages"
        names = [one["path"] for one in view["data"]]
        _say("✓", view["proof"]["proof"]["determinism"], "green")
        source = f"{packages} from its header" if header else f"no header: Cellwright's own {packages}"
        _say("✓", f"Python {view['environment']['python']}; {source}", "green")
        if note := SOURCE_NOTES.get(view["environment"]["source"], ""):
            _say("!", note, "yellow")
        _say("✓", f"data: {', '.join(names[:10]) or 'none'}{' …' if len(names) > 10 else ''}", "green")
        _say("✓", f"verified, and signed with key {fingerprint(view['proof']['key'])}", "bold green")
    else:
        _say("✗", "not verified", "bold red")


# ── proof ──


def check_now(path: Path, proof: Path | None, files: Files, *, as_json: bool) -> int:
    """Compare a proof with what is there; the exit code."""
    settings = Settings.read()
    file = read(path)
    kept = _kept(file, proof, settings)
    if kept is None:
        view: dict[str, Any] = {"sound": False, "trust": "no proof", "key": None, "made_at": None, "changes": []}
    else:
        view = _standing_view(anyio.run(_standing, file, kept, files, settings))
    if as_json:
        console.as_json(view)
    else:
        _show_standing(view)
    return 0 if view["sound"] else 1


def _kept(file: NotebookFile, proof: Path | None, settings: Settings) -> StoredProof | None:
    found = ProofStore(home=settings.home).find(file.path, file.content or b"")
    if proof is None:
        return found
    try:
        content = proof.read_bytes()
    except OSError as error:
        raise UserError(f"There is no proof at {str(proof)!r}: {error.strerror}.", hint="Check the path.") from error
    return StoredProof(signed=parse(content, repr(str(proof))), data=found.data if found is not None else ())


async def _standing(file: NotebookFile, kept: StoredProof, files: Files, settings: Settings) -> ProofStatus:
    terrain = terrain_for(
        file,
        files=files,
        limits=Limits(),
        tier="A",
        settings=settings,
        python=_choice_of(kept.signed.proof),
        on_progress=console.note,
    )
    around = FileLocations(project=terrain.project, notebook=file.path, data=terrain.data or kept.data)
    packages, python = await _packages_now(file, terrain)

    def compared() -> ProofStatus:
        ours = Signer.known_at(settings.home)
        return proof_status(
            kept.signed,
            file,
            around,
            our_key=ours.key if ours is not None else None,
            packages=packages,
            tools=tools_here(python or str(kept.signed.proof.tools.get("python"))),
        )

    return await anyio.to_thread.run_sync(compared)


def _choice_of(proof: Proof) -> PythonChoice:
    """A proof made on our Python is compared with our Python, also where the header asks for another."""
    return "ours" if proof.tools.get("python") == our_interpreter().version else "header"


async def _packages_now(file: NotebookFile, terrain: KernelOptions) -> tuple[Mapping[str, str] | str, str]:
    """What the notebook would get today and on which Python, or why it would get nothing."""
    try:
        header = header_of(file.document.header)
        if header is None:
            ours = [Path(path) for path in package_paths()]
            return await anyio.to_thread.run_sync(distributions_in, ours), terrain.pythons.ours.version
        async with fresh_packages(header, terrain) as fresh:
            return fresh.packages, fresh.python
    except (UserError, Unavailable) as error:
        return error.message, ""


def _standing_view(found: ProofStatus) -> dict[str, Any]:
    return {
        "sound": found.is_sound,
        "trust": found.trust,
        "key": found.fingerprint,
        "made_at": found.proof.made_at,
        "changes": [dataclasses.asdict(change) for change in found.changes],
    }


def _show_standing(view: Mapping[str, Any]) -> None:
    match view["trust"]:
        case "no proof":
            console.error(CellwrightError("There is no proof of this notebook here.", hint=_VERIFY))
            return
        case "not signed":
            hint = "Somebody changed it, or it was cut short. " + _VERIFY
            console.error(CellwrightError("The proof's signature does not hold: it is not what was signed.", hint=hint))
        case "unknown key":
            words = f"The proof is signed with a key that is not ours: {view['key']}."
            console.error(CellwrightError(words, hint=f"Ask whoever made it for their key's print. {_VERIFY}"))
        case _:
            _say("✓", f"signed with our key {view['key']} on {view['made_at']}", "green")
    _show_changes(view["changes"])
    if view["sound"]:
        _say("✓", "nothing has changed since", "bold green")


_VERIFY = "`cellwright notebook verify` makes one."


def _show_changes(changes: Sequence[Mapping[str, Any]]) -> None:
    for change in changes[:_CHANGES]:
        _say("✗", f"{change['about']}: {change['text']}", "red")
    if len(changes) > _CHANGES:
        _say("✗", f"and {len(changes) - _CHANGES} more changes; --json lists all", "red")


def _say(mark: str, text: str, style: str) -> None:
    _data.print(Text.assemble((mark, style), " ", text), soft_wrap=True)
