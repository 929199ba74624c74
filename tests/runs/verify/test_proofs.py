"""A proof is signed, kept whole, found again, and says exactly what has changed since."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.notebook.files import read
from cellwright.runs.verify.input_files import FileLocations, InputFile
from cellwright.runs.verify.proof import (
    KEY_FILE,
    Proof,
    ProofStore,
    ProvenCell,
    ProvenEnvironment,
    SignedProof,
    Signer,
    canonical,
    cell_name,
    header_sha256,
    is_signed,
    options_sha256,
    parse,
    sha256,
    to_json,
)
from cellwright.runs.verify.proof_status import ProofStatus, proof_status
from cellwright.sandbox.spec import DataMount

Write = Callable[..., Path]
PACKAGES = {"marimo": "0.25.2", "pandas": "3.1.1"}
TOOLS = {"python": "3.11.7"}
BESIDE = "code: only text outside the cells, or a cell's settings, changed"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "state"


def proof_of(path: Path) -> Proof:
    """A proof as a verification would have made it."""
    file = read(path)
    data = path.parent / "sales.csv"
    return Proof(
        notebook=path.name,
        notebook_sha256=sha256(path.read_bytes()),
        header_sha256=header_sha256(file.document),
        options_sha256=options_sha256(file.document),
        cells=tuple(
            ProvenCell(id=cell.id, name=cell_name(cell.name), code_sha256=sha256(cell.code))
            for cell in file.document.cells
        ),
        data=(InputFile(path="sales.csv", sha256=sha256(data.read_bytes()), bytes=data.stat().st_size, why="opened"),),
        environment=ProvenEnvironment(requirements=None, packages=PACKAGES),
        checks=(),
        warnings=(),
        tools=TOOLS,
        tier="A",
        made_at="2026-05-04T03:02:01+00:00",
        determinism="all cells showed the same",
    )


@pytest.fixture
def path(written: Write) -> Path:
    place = written("x = 1", "y = x", "z = y", "a = 1", "b = 1")
    place.write_text(place.read_text().replace("def _():\n    y", "def middle():\n    y"))
    (place.parent / "sales.csv").write_text("n\n1\n")
    return place


def signed(proof: Proof, signer: Signer) -> SignedProof:
    return SignedProof(proof=proof, key=signer.key, signature=signer.sign(canonical(proof)))


def now(
    kept: SignedProof, path: Path, signer: Signer | None, packages: Mapping[str, str] | str = PACKAGES
) -> ProofStatus:
    around = FileLocations(project=path.parent, notebook=path)
    key = signer.key if signer is not None else None
    return proof_status(kept, read(path), around, our_key=key, packages=packages, tools=TOOLS)


def changes(found: ProofStatus) -> list[str]:
    return [f"{change.about}: {change.text}" for change in found.changes]


# ── what changed ──


def test_a_proof_of_what_is_still_there_is_sound(home: Path, path: Path) -> None:
    signer = Signer.at(home)
    found = now(signed(proof_of(path), signer), path, signer)
    assert (found.is_sound, found.trust, found.changes) == (True, "ours", ())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("    y = x\n", "    y = x + 1\n", ["code: cell middle changed"]),
        ("    z = y\n", "    z = y + 1\n", ["code: cell 3 changed"]),
        ("def middle", "def centre", ["code: cell middle was renamed to centre"]),
        ("@app.cell\ndef middle():\n    y = x\n\n\n", "", ["code: cell middle was removed"]),
        (
            "@app.cell\ndef middle",
            "@app.cell\ndef extra():\n    w = 1\n\n\n@app.cell\ndef middle",
            ["code: cell extra was added"],
        ),
        ("import marimo\n", '"""About."""\n\nimport marimo\n', ["code: the header changed"]),
        ("marimo.App()", 'marimo.App(width="full")', ["code: the app's options changed"]),
        (
            "@app.cell\ndef middle",
            "# why\n@app.cell\ndef middle",
            ["code: only text outside the cells, or a cell's settings, changed"],
        ),
    ],
    ids=["named cell", "unnamed cell", "renamed", "removed", "added", "header", "options", "comment"],
)
def test_an_edit_is_named(home: Path, path: Path, old: str, new: str, told: list[str]) -> None:
    signer = Signer.at(home)
    kept = signed(proof_of(path), signer)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    found = now(kept, path, signer)
    assert not found.is_sound
    assert changes(found) == told


def test_a_cell_that_moved_is_told_once(home: Path, path: Path) -> None:
    signer = Signer.at(home)
    kept = signed(proof_of(path), signer)
    cell = "@app.cell\ndef middle():\n    y = x\n\n\n"
    path.write_text(path.read_text().replace(cell, "").replace("if __name__", f"{cell}if __name__"))
    assert changes(now(kept, path, signer)) == ["code: cell middle was moved"]


def test_data_that_changed_or_is_gone_is_named(home: Path, path: Path) -> None:
    signer = Signer.at(home)
    kept = signed(proof_of(path), signer)
    (path.parent / "sales.csv").write_text("n\n1\n22\n")
    assert changes(now(kept, path, signer)) == ["data: sales.csv changed (4 → 7 bytes)"]
    (path.parent / "sales.csv").unlink()
    assert changes(now(kept, path, signer)) == ["data: sales.csv is not there"]


def test_packages_that_would_be_others_today_are_named(home: Path, path: Path) -> None:
    signer = Signer.at(home)
    kept = signed(proof_of(path), signer)
    today = {"marimo": "0.25.2", "pandas": "3.2", "numpy": "2.4"}
    assert changes(now(kept, path, signer, today)) == [
        "environment: numpy 2.4 is new",
        "environment: pandas 3.1.1 → 3.2",
    ]
    assert changes(now(kept, path, signer, {"pandas": "3.1.1"})) == ["environment: marimo 0.25.2 is gone"]
    assert changes(now(kept, path, signer, "no index")) == ["environment: it is not to be had any more: no index"]


# ── who signed ──


@pytest.mark.parametrize("change", ["tier", "notebook_sha256", "made_at"])
def test_a_proof_that_was_tampered_with_is_not_signed(home: Path, path: Path, change: str) -> None:
    signer = Signer.at(home)
    kept = signed(proof_of(path), signer)
    told = json.loads(to_json(kept))
    told["proof"][change] += "0"
    found = now(parse(json.dumps(told).encode(), "it"), path, signer)
    assert found.trust == "not signed"
    assert not found.is_sound


def test_a_signature_that_is_none_is_not_signed(home: Path, path: Path) -> None:
    signer = Signer.at(home)
    kept = signed(proof_of(path), signer)
    for bad in (replace(kept, signature=""), replace(kept, signature="%%%"), replace(kept, key="AAAA")):
        assert now(bad, path, signer).trust == "not signed"


def test_a_proof_by_another_key_is_whole_but_not_ours(home: Path, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    kept = signed(proof_of(path), Signer.at(other))
    for ours in (Signer.at(home), None):
        found = now(kept, path, ours)
        assert (found.trust, found.changes, found.is_sound) == ("unknown key", (), False)


def test_a_signature_made_for_something_else_does_not_count(home: Path) -> None:
    signer = Signer.at(home)
    assert is_signed(b"a", key=signer.key, signature=signer.sign(b"a"))
    assert not is_signed(b"b", key=signer.key, signature=signer.sign(b"a"))


def test_the_key_is_made_once_and_only_its_owner_reads_it(home: Path) -> None:
    assert Signer.known_at(home) is None
    first = Signer.at(home)
    assert first.key == Signer.at(home).key
    place = home / KEY_FILE
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [one.name for one in home.iterdir()] == [KEY_FILE]
    assert place.read_text().strip() not in repr(first)


def test_a_key_that_others_can_read_is_refused(home: Path) -> None:
    Signer.at(home)
    (home / KEY_FILE).chmod(0o644)
    with pytest.raises(RefusedByPolicy):
        Signer.at(home)


def test_a_damaged_key_is_told(home: Path) -> None:
    Signer.at(home)
    (home / KEY_FILE).write_text("half")
    with pytest.raises(Unavailable, match="damaged"):
        Signer.at(home)


# ── the shelf ──


def test_a_kept_proof_is_found_by_content_and_after_an_edit_by_path(home: Path, path: Path) -> None:
    kept = signed(proof_of(path), Signer.at(home))
    mount = DataMount(source="/somewhere/sales.csv", target="data/sales.csv")
    shelf = ProofStore(home=home)
    shelf.put(kept, path, [mount])
    content = path.read_bytes()
    found = shelf.find(path, content)
    assert found is not None
    assert (found.signed, found.data) == (kept, (mount,))
    edited = shelf.find(path, content + b"#")
    assert edited is not None
    assert edited.signed == kept
    moved = shelf.find(path.with_name("moved.py"), content)
    assert moved is not None
    assert moved.signed == kept
    assert shelf.find(path.with_name("moved.py"), content + b"#") is None


def test_a_proof_reads_back_as_it_was_and_anything_else_is_refused(home: Path, path: Path) -> None:
    kept = signed(proof_of(path), Signer.at(home))
    assert parse(to_json(kept), "it") == kept
    whole = to_json(kept)
    for bad in (b"", b"{}", b"[]", b"null", whole[: len(whole) // 2], b'{"proof": {"format": 1}}', b"\xff"):
        with pytest.raises(UserError, match="not a proof"):
            parse(bad, "it")
    told = json.loads(whole)
    told["proof"]["format"] = 99
    with pytest.raises(UserError, match="format '99'"):
        parse(json.dumps(told).encode(), "it")
    assert str(path.parent) not in whole.decode()
