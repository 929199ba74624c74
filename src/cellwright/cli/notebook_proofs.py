"""Verifying a notebook and checking its proof, for the command line."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from cellwright.app import Files, open_pool
from cellwright.app.notebooks import kernel_options
from cellwright.app.verification import verification_result, verify_notebook
from cellwright.cli.notebook_options import NotebookOptions
from cellwright.cli.render import console
from cellwright.cli.render.verification import say
from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.kernel.environments.additions import distributions_in
from cellwright.kernel.environments.interpreters import our_interpreter
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.process.zygote_process import ZygoteProcess, package_paths
from cellwright.notebook.atomic_write import write_atomically
from cellwright.notebook.files import NotebookFile, read
from cellwright.runs.verify.fresh_environment import fresh_packages
from cellwright.runs.verify.input_files import FileLocations
from cellwright.runs.verify.proof import ProofStore, Signer, StoredProof, parse, to_json
from cellwright.runs.verify.proof_status import ProofStatus, proof_status
from cellwright.runs.verify.verification import NotVerified, Verified, tools_here
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings

_CHANGES = 30


# ── verify ──


def verify_here(
    path: Path, options: NotebookOptions, begun: ZygoteProcess, *, seconds: float, is_strict: bool
) -> dict[str, Any]:
    """Verify in this process, on the zygote that was begun, and keep the proof; what was found."""
    settings = Settings.read()

    async def verified() -> tuple[Verified | NotVerified, Path | None]:
        given: dict[str, Any] = {**options, "seconds": seconds, "is_strict": is_strict, "on_progress": console.note}
        async with open_pool(settings, begun) as pool:
            return await verify_notebook(path, settings=settings, pool=pool, **given)

    return verification_result(*anyio.run(verified))


def write_proof(path: Path, proof: Any) -> None:
    """Put a proof where a person wants it, as it is stored. Raises `Unavailable`."""
    try:
        write_atomically(path, to_json(parse(json.dumps(proof).encode(), "the proof")))
    except OSError as error:
        raise Unavailable(
            f"The proof could not be written to {str(path)!r}: {error.strerror}.",
            hint="It is stored all the same: `cellwright notebook proof` finds it. Name another --out.",
        ) from error


# ── proof ──


def check_now(path: Path, proof: Path | None, files: Files, *, as_json: bool) -> bool:
    """Compare a proof with what is there; whether it holds."""
    settings = Settings.read()
    file = read(path)
    kept = _kept(file, proof, settings)
    view: dict[str, Any] = {"sound": False, "trust": "no proof", "key": None, "made_at": None, "changes": []}
    if kept is not None:
        found = anyio.run(_status, file, kept, files, settings)
        view = {
            "sound": found.is_sound,
            "trust": found.trust,
            "key": found.fingerprint,
            "made_at": found.proof.made_at,
            "changes": [dataclasses.asdict(change) for change in found.changes],
        }
    console.result(view, as_json, _show_status)
    return view["sound"]


def _kept(file: NotebookFile, proof: Path | None, settings: Settings) -> StoredProof | None:
    found = ProofStore(home=settings.home).find(file.path, file.content or b"")
    if proof is None:
        return found
    try:
        content = proof.read_bytes()
    except OSError as error:
        raise UserError(f"There is no proof at {str(proof)!r}: {error.strerror}.", hint="Check the path.") from error
    return StoredProof(signed=parse(content, repr(str(proof))), data=found.data if found is not None else ())


async def _status(file: NotebookFile, kept: StoredProof, files: Files, settings: Settings) -> ProofStatus:
    opened = kernel_options(
        file,
        files=files,
        limits=Limits(),
        tier="A",
        settings=settings,
        # A proof made on our Python is compared with our Python, also where the header asks for another.
        python="ours" if kept.signed.proof.tools.get("python") == our_interpreter().version else "header",
        on_progress=console.note,
    )
    around = FileLocations(project=opened.project, notebook=file.path, data=opened.data or kept.data)
    packages, python = await _packages_now(file, opened)

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


async def _packages_now(file: NotebookFile, options: KernelOptions) -> tuple[Mapping[str, str] | str, str]:
    """What the notebook would get today and on which Python, or why it would get nothing."""
    try:
        header = header_of(file.document.header)
        if header is None:
            ours = [Path(path) for path in package_paths()]
            return await anyio.to_thread.run_sync(distributions_in, ours), options.pythons.ours.version
        async with fresh_packages(header, options) as fresh:
            return fresh.packages, fresh.python
    except (UserError, Unavailable) as error:
        return error.message, ""


def _show_status(view: Mapping[str, Any]) -> None:
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
            say("✓", f"signed with our key {view['key']} on {view['made_at']}", "green")
    for change in view["changes"][:_CHANGES]:
        say("✗", f"{change['about']}: {change['text']}", "red")
    if len(view["changes"]) > _CHANGES:
        say("✗", f"and {len(view['changes']) - _CHANGES} more changes; --json lists all", "red")
    if view["sound"]:
        say("✓", "nothing has changed since", "bold green")


_VERIFY = "`cellwright notebook verify` makes one."
