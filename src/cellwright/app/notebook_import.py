"""A notebook of Jupyter becomes one of ours: converted in a cage, both run there, compared, mended, written."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from cellwright.app.notebooks import Files, contained, kernel_options
from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.environments.interpreters import PythonChoice
from cellwright.kernel.environments.script_header import normal_requirement
from cellwright.kernel.jupyter import (
    ConvertedCell,
    NotebookConversion,
    OriginalRun,
    ShownValue,
    convert_notebook,
    digest_code,
    has_jupyter,
    run_original,
)
from cellwright.kernel.observation import CellFinishedEvent, CellOutcome, ConsoleText, KernelEnd, Observation
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions, KernelProvisioner
from cellwright.notebook.atomic_write import write_atomically, write_new
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import MAX_NOTEBOOK_BYTES, NotebookFile, new
from cellwright.notebook.marimo_file import new_cell_id, storable_code
from cellwright.notebook.render import render
from cellwright.runs.jupyter.comparison import CellProof, ConvertedOutcome, compare
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits, Tier
from cellwright.settings import Settings

_DISTRIBUTIONS: Final = {
    "sklearn": "scikit-learn", "cv2": "opencv-python-headless", "PIL": "pillow", "bs4": "beautifulsoup4",
    "yaml": "pyyaml", "skimage": "scikit-image", "dateutil": "python-dateutil", "Bio": "biopython",
}  # fmt: skip
"""Of modules that are called otherwise than what brings them, where none of it is installed here."""
_TOLD: Final = "cellwright_told"
_FETCHES: Final = re.compile(r"Name or service not known|name resolution|Network is unreachable|getaddrinfo failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """How a notebook is to be imported."""

    out: Path
    may_replace: bool = False
    files: Files
    limits: Limits | None = None
    tier: Tier | None = None
    allow_uncontained: bool = False
    python: PythonChoice = "header"
    seconds: float = 600
    packages: tuple[str, ...] = ()
    """What its cells need besides, as for pip: it goes into the header, and both notebooks run with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedNotebook:
    """What came of an import."""

    source: Path
    out: Path
    conversion: NotebookConversion
    proofs: tuple[CellProof, ...]
    notes: tuple[str, ...] = ()
    """Of the whole notebook."""
    has_original: bool = True
    """Whether the original was run to compare."""
    requirements: tuple[str, ...] = ()
    """What its header asks for by name: what its pip cells install, and what was named."""
    missing: tuple[str, ...] = ()
    """Packages that its cells import and that are not there, as far as their names can be known."""

    @property
    def is_proven(self) -> bool:
        """Whether every cell is."""
        return self.has_original and all(proof.verdict in {"proven", "text"} for proof in self.proofs)


async def import_notebook(
    path: Path,
    options: ImportOptions,
    *,
    pool: KernelPool,
    settings: Settings,
    on_progress: Callable[[str], None] = lambda _: None,
) -> ImportedNotebook:
    """The notebook converted and written, and what is known of each of its cells. Raises `UserError`."""
    _check_packages(options.packages)
    text = await anyio.to_thread.run_sync(_read_text, path)
    if not options.may_replace and await anyio.Path(options.out).exists():
        raise UserError(f"{str(options.out)!r} exists.", hint="Name another file, or let it be replaced.")
    tier = contained(options.tier, await anyio.to_thread.run_sync(probe), allow_uncontained=options.allow_uncontained)
    on_progress("converting")
    conversion = await convert_notebook(await pool.zygote(), tier, text)
    _check(conversion, path)
    requirements = tuple(dict.fromkeys([*conversion.requirements, *options.packages]))
    trial = _Trial(
        text=text,
        path=options.out,
        header=_header(conversion, requirements),
        pool=pool,
        seconds=options.seconds,
        on_progress=on_progress,
        options=kernel_options(
            new(options.out),
            files=replace(options.files, mode="drop"),
            limits=options.limits or Limits(),
            tier=tier,
            settings=settings,
            python=options.python,
            on_progress=on_progress,
        ),
    )
    conversion, proofs, notes, original = await _proven(trial, conversion)
    document = _document(trial.header, [cell.code for cell in conversion.cells])
    await anyio.to_thread.run_sync(_write, options, document)
    return ImportedNotebook(
        source=path, out=options.out, conversion=conversion, proofs=proofs, notes=notes,
        has_original=original is not None, requirements=requirements, missing=_missing(proofs, path.parent),
    )  # fmt: skip


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            raise UserError(f"There is no notebook {str(path)!r}.", hint="Name a notebook of Jupyter (.ipynb).")
        content = path.read_bytes() if path.stat().st_size <= MAX_NOTEBOOK_BYTES else None
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    if content is None:
        raise UserError(
            f"{str(path)!r} is larger than {MAX_NOTEBOOK_BYTES >> 20} MB.",
            hint="Clear its outputs in Jupyter: they are not needed, both notebooks are run.",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{str(path)!r} is not UTF-8.", hint="Save it once in Jupyter.") from error


def _check_packages(packages: Sequence[str]) -> None:
    for text in packages:
        try:
            normal_requirement(text)
        except UserError as problem:
            hint = "Name packages like 'pandas', 'pandas>=2' or 'pandas[excel]==2.2.3'; no addresses, no paths."
            raise UserError(f"{text[:80]!r} is not a package name with versions.", hint=hint) from problem


def _check(conversion: NotebookConversion, path: Path) -> None:
    if conversion.problem:
        raise UserError(
            f"{str(path)!r} is no notebook of Jupyter: {conversion.problem[:400]}.",
            hint="Open it in Jupyter and save it.",
        )
    if conversion.language != "python":
        raise UserError(
            f"{str(path)!r} is in {conversion.language[:40]!r}; marimo's notebooks are Python.",
            hint="Only notebooks in Python can be imported.",
        )
    if not any(cell.sources for cell in conversion.cells):
        raise UserError(f"{str(path)!r} has no cells.", hint="There is nothing to import.")


# ── the new notebook ──


def _header(conversion: NotebookConversion, requirements: Sequence[str]) -> str:
    """A PEP 723 header with what is to be installed and what its cells import; none if nothing is to be installed."""
    if not requirements:
        return ""
    given = {re.split(r"[\[<>=!~ ]", each, maxsplit=1)[0].lower().replace("_", "-") for each in requirements}
    imported = [name for name in _imported(conversion) if name.lower().replace("_", "-") not in given]
    lines = [f"#     {json.dumps(each)}," for each in ("marimo", *requirements, *imported)]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return "\n".join(
        ["# /// script", f'# requires-python = ">={version}"', "# dependencies = [", *lines, "# ]", "# ///"]
    )


def _imported(conversion: NotebookConversion) -> list[str]:
    """Distributions of the modules that its cells import."""
    known = packages_distributions()
    modules = dict[str, None]()
    for cell in conversion.cells:
        try:
            tree = ast.parse(cell.code)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules.update(dict.fromkeys(alias.name.split(".")[0] for alias in node.names))
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules[node.module.split(".")[0]] = None
    ours = [name for name in modules if name not in sys.stdlib_module_names and name != "marimo"]
    found = [known[name][0] if name in known else _DISTRIBUTIONS.get(name, "") for name in ours]
    return [name for name in dict.fromkeys(found) if name]


def _missing(proofs: Sequence[CellProof], folder: Path) -> tuple[str, ...]:
    """Packages of the modules that were not there; a module of the person's own that is beside the notebook is none."""
    told = [reason for proof in proofs for reason in proof.reasons]
    modules = [found.split(".")[0] for text in told for found in re.findall(r"No module named '([\w.]+)'", text)]
    own = {name for name in modules if (folder / f"{name}.py").exists() or (folder / name).is_dir()}
    return tuple(dict.fromkeys(_DISTRIBUTIONS.get(name, name) for name in modules if name not in own))


def _document(header: str, codes: Sequence[str]) -> Document:
    taken = set[CellId]()
    cells = list[Cell]()
    for code in codes:
        identity = new_cell_id(taken)
        taken.add(identity)
        kept = storable_code(code)
        if kept is None:
            commented = "\n".join(f"# {line}".rstrip() for line in code.split("\n"))
            kept = storable_code(commented) or "pass"
        cells.append(Cell(id=identity, code=kept))
    return Document(cells=tuple(cells), header=header)


def _write(options: ImportOptions, document: Document) -> None:
    content = render(document).encode()
    try:
        if options.may_replace:
            write_atomically(options.out, content)
        elif not write_new(options.out, content):
            raise UserError(f"{str(options.out)!r} exists by now.", hint="Name another file, or let it be replaced.")
    except OSError as error:
        raise UserError(
            f"Could not write {str(options.out)!r}: {error.strerror or error}.", hint="Name another place."
        ) from error


# ── both notebooks run ──


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What both runs share."""

    text: str
    path: Path
    header: str
    pool: KernelPool
    options: KernelOptions
    seconds: float
    on_progress: Callable[[str], None]

    async def original(self) -> tuple[OriginalRun | None, str]:
        """What Jupyter made of it; else why that is not known."""
        if not has_jupyter():
            return None, "The original was not run: `pip install 'cellwright[jupyter]'` adds what runs it."
        document = Document(header=self.header)
        provisioner = KernelProvisioner(self.path.resolve(), self.options, self.pool.zygote)
        try:
            ran = await run_original(provisioner, document, self.text, seconds=self.seconds)
        except Unavailable as error:
            return None, f"The original could not be run: {error.message}"
        return ran, f"The original did not end well: {ran.end[:400]}." if ran.end else ""

    async def ours(
        self, conversion: NotebookConversion, names: Sequence[str]
    ) -> tuple[list[ConvertedOutcome], dict[str, ShownValue], str]:
        """What our kernel makes of the converted cells, with probes in them: nothing of those is ever written."""
        document = _document(self.header, [digest_code(), *(cell.probe for cell in conversion.cells)])
        file = NotebookFile(path=self.path.resolve(), document=document, content=None)
        outcomes, printed = dict[CellId, CellOutcome](), dict[CellId, list[str]]()
        end: KernelEnd | None = None
        async with self.pool.open_notebook(file, self.options) as notebook:
            async for event in notebook.run("all", seconds=self.seconds):
                match event:
                    case ConsoleText(stream="stdout"):
                        printed.setdefault(event.cell, []).append(event.text)
                    case CellFinishedEvent():
                        outcomes[event.outcome.id] = event.outcome
                    case Observation():
                        outcomes |= {outcome.id: outcome for outcome in event.cells}
                        end = event.kernel_end
                    case _:
                        pass
            told = {} if end is not None else await self._told(notebook, names)
        shown = told.get("shown", {})
        numbers = {
            str(ran.id): ", ".join(map(str, cell.sources))
            for cell, ran in zip(conversion.cells, document.cells[1:], strict=True)
        }
        cells = list[ConvertedOutcome]()
        for cell, ran in zip(conversion.cells, document.cells[1:], strict=True):
            outcome = outcomes.get(ran.id)
            if outcome is None:
                cells.append(ConvertedOutcome(status="lost"))
                continue
            seen = shown.get(str(cell.sources[0])) if cell.sources else None
            cells.append(ConvertedOutcome.of(outcome, "".join(printed.get(ran.id, ())), _values(seen), numbers))
        values = told.get("values", {})
        named = {name: value for name in names for value in _values([values[name]] if name in values else ())}
        return cells, named, f"Our kernel ended: {end.reason}." if end is not None else ""

    async def _told(self, notebook: Any, names: Sequence[str]) -> dict[str, Any]:
        """What the probes saw: text of a hostile process, read as what it must be."""
        await notebook.apply([CreateCell(code=f"{_TOLD} = cellwright_tell({list(names)!r})")], seconds=self.seconds)
        value = (await notebook.values([_TOLD])).get(_TOLD)
        try:
            told = json.loads(value.json) if value is not None and isinstance(value.json, str) else {}
        except (ValueError, RecursionError):
            return {}
        sound = isinstance(told, dict) and all(isinstance(told.get(part), dict) for part in ("shown", "values"))
        return told if sound else {}


def _values(seen: Any) -> tuple[ShownValue, ...]:
    found = list[ShownValue]()
    for pair in seen if isinstance(seen, list) else ():
        match pair:
            case [str(kind), str(digest)]:
                found.append(ShownValue(kind=kind[:200], digest=digest[:200]))
            case _:
                pass
    return tuple(found)


async def _proven(
    trial: _Trial, conversion: NotebookConversion
) -> tuple[NotebookConversion, tuple[CellProof, ...], tuple[str, ...], OriginalRun | None]:
    trial.on_progress("running the original")
    original, why = await trial.original()
    notes = [why] if why else []
    if conversion.order:
        order = ", ".join(map(str, conversion.order[:20]))
        notes.append(
            f"Its cells were last executed in another order than they stand: {order}. Both were run as they stand."
        )
    trial.on_progress("running the new notebook")
    names = list(dict.fromkeys(new for cell in conversion.cells for _, new in cell.defines if new))
    ours, values, end = await trial.ours(conversion, names)
    proofs = compare(conversion, original, ours, values)
    if any(proof.lacks_picture for proof in proofs):
        trial.on_progress("running it again: figures are shown where the original shows them")
        conversion = _with_figures(conversion, proofs)
        ours, values, end = await trial.ours(conversion, names)
        proofs = compare(conversion, original, ours, values)
    again = None
    if original is not None and any(proof.verdict == "differs" for proof in proofs):
        trial.on_progress("running the original again: does it do the same twice?")
        again, _ = await trial.original()
        proofs = compare(conversion, original, ours, values, again=again)
    if _prints_otherwise(proofs):
        trial.on_progress("running it again: does pandas print fewer rows here?")
        wider = _with_rows(conversion)
        seen, held, ended = await trial.ours(wider, names)
        compared = compare(wider, original, seen, held, again=again)
        if _prints_otherwise(compared) < _prints_otherwise(proofs):
            conversion, end, proofs = wider, ended, compared
            notes.append("A cell in front lets pandas print up to 60 rows, as in Jupyter: in marimo it prints ten.")
    if any(_FETCHES.search(reason) for proof in proofs for reason in proof.reasons):
        notes.append("Both were run without a network, so cells that fetch fail: give them what they fetch as a file.")
    return conversion, proofs, tuple([*notes, end] if end else notes), original


def _prints_otherwise(proofs: Sequence[CellProof]) -> int:
    """How many cells print other text than the original."""
    return sum(proof.prints_otherwise for proof in proofs)


def _with_rows(conversion: NotebookConversion) -> NotebookConversion:
    """With pandas printing up to 60 rows, as it does by itself: marimo lets it print ten."""
    code = "import pandas as _pandas\n\n_pandas.options.display.max_rows = 60  # as in Jupyter"
    return _changed(conversion, {"cells": (ConvertedCell(code=code, probe=code, sources=()), *conversion.cells)})


def _with_figures(conversion: NotebookConversion, proofs: Sequence[CellProof]) -> NotebookConversion:
    """The cells that drew without showing anything show the figure at their end."""
    plots = [new for cell in conversion.cells for _, new in cell.defines if re.search(
        rf"(?m)^\s*(?:import matplotlib\.pyplot as|from matplotlib import pyplot as) {re.escape(new)}\b|"
        rf"^\s*from matplotlib import pyplot$", cell.code)]  # fmt: skip
    if not plots:
        return conversion
    cells = list[ConvertedCell]()
    for proof in proofs:
        cell = proof.cell
        if proof.lacks_picture:
            end = f"\n{plots[-1]}.gcf()"
            note = "its figure is shown at its end"
            structure: Mapping[str, Any] = {
                "code": _ended(cell.code, plots[-1]) + end,
                "probe": _ended(cell.probe, plots[-1]) + end,
                "notes": (*cell.notes, note),
            }
            cell = _changed(cell, structure)
        cells.append(cell)
    return _changed(conversion, {"cells": tuple(cells)})


def _ended(code: str, plots: str) -> str:
    """The code without a semicolon and without showing the figure, which its last expression is going to do."""
    return re.sub(rf"\n(?:cellwright_shown\(\d+, )?{re.escape(plots)}\.show\(\)\)?$", "", code.rstrip().rstrip(";"))


def _changed(record: Any, changes: Mapping[str, Any]) -> Any:
    from msgspec.structs import replace as changed

    return changed(record, **changes)


def import_view(imported: ImportedNotebook) -> dict[str, Any]:
    """What came of it as `--json` shows it."""
    return {
        "source": str(imported.source),
        "notebook": str(imported.out),
        "proven": imported.is_proven,
        "original_ran": imported.has_original,
        "requirements": list(imported.requirements),
        "missing": list(imported.missing),
        "executed_order": list(imported.conversion.order),
        "notes": list(imported.notes),
        "cells": [
            {
                "sources": list(proof.cell.sources),
                "verdict": proof.verdict,
                "reasons": list(proof.reasons),
                "only_there": list(proof.only_there),
                "mended": list(proof.cell.notes),
                "renamed": {name: new for name, new in proof.cell.defines if new not in {name, ""}},
                "code": proof.cell.code,
            }
            for proof in imported.proofs
            if proof.cell.sources
        ],
    }


def default_out(path: Path) -> Path:
    """Beside it, as a marimo notebook."""
    return path.with_suffix(".py")
