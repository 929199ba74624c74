"""What a run's proof is worth is read once, and again as soon as anything it rests on is another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cellwright.runs.verify.proof import KEY_FILE, Signer, to_json
from cellwright.server.http.routes.runs import ProofCache
from cellwright.settings import Settings
from tests.conftest import notebook_source
from tests.runs.verify.test_proofs import proof_of, signed


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "home").mkdir(mode=0o700)
    return Settings(home=tmp_path / "home", cache=tmp_path / "cache")


def proven(folder: Path, settings: Settings) -> tuple[Path, Path]:
    """A notebook and its proof."""
    folder.mkdir()
    notebook, proof = folder / "sums.py", folder / "sums.proof.json"
    notebook.write_text(notebook_source("x = 1"))
    (folder / "sales.csv").write_text("n\n1\n")
    proof.write_bytes(to_json(signed(proof_of(notebook), Signer.at(settings.home))))
    return notebook, proof


def test_a_proof_is_read_once_while_nothing_changes(tmp_path: Path, settings: Settings) -> None:
    (notebook, proof), proofs = proven(tmp_path / "project", settings), ProofCache(settings)
    found = [proofs.of(str(proof), str(notebook)) for _ in range(3)]
    assert [each.is_valid for each in found if each] == [True] * 3
    assert proofs.read == 1
    assert proofs.of("", str(notebook)) is None


def test_code_of_the_same_length_with_its_time_set_back_is_seen(tmp_path: Path, settings: Settings) -> None:
    (notebook, proof), proofs = proven(tmp_path / "project", settings), ProofCache(settings)
    assert (first := proofs.of(str(proof), str(notebook))) is not None
    before = notebook.stat()
    notebook.write_text(notebook.read_text().replace("x = 1", "x = 2"))
    os.utime(notebook, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (notebook.stat().st_size, notebook.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    found = proofs.of(str(proof), str(notebook))
    assert found is not None
    assert (first.is_valid, found.is_valid, found.says) == (True, False, "Changed since: cell 1 changed.")


def test_a_proof_or_a_key_that_goes_or_comes_is_seen(tmp_path: Path, settings: Settings) -> None:
    (notebook, proof), proofs = proven(tmp_path / "project", settings), ProofCache(settings)

    def is_valid() -> bool:
        found = proofs.of(str(proof), str(notebook))
        assert found is not None
        return found.is_valid

    assert is_valid()
    key = (settings.home / KEY_FILE).rename(tmp_path / "key")
    assert not is_valid()
    key.rename(settings.home / KEY_FILE)
    assert is_valid()
    kept = proof.read_bytes()
    proof.unlink()
    assert not is_valid()
    proof.write_bytes(kept)
    assert is_valid()


def test_only_so_many_are_kept(tmp_path: Path, settings: Settings) -> None:
    made = [proven(tmp_path / f"project{number}", settings) for number in range(3)]
    proofs = ProofCache(settings, most=2)
    for notebook, proof in (*made, made[2], made[0]):
        assert proofs.of(str(proof), str(notebook)) is not None
    assert proofs.read == 4
