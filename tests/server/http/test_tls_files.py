"""TLS files that cannot be used are told by `cellwright serve` itself: which one, and why, before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.in_process import run_here
from tests.server.http.a_certificate import a_certificate

Files = Callable[[Path], tuple[Path, Path]]


def _nowhere(folder: Path) -> tuple[Path, Path]:
    return folder / "nowhere.pem", a_certificate(folder)[1]


def _no_key(folder: Path) -> tuple[Path, Path]:
    return a_certificate(folder)[0], folder


def _no_certificate(folder: Path) -> tuple[Path, Path]:
    return a_certificate(folder)[1], a_certificate(folder)[1]


def _twice_the_certificate(folder: Path) -> tuple[Path, Path]:
    return a_certificate(folder)[0], a_certificate(folder)[0]


def _locked(folder: Path) -> tuple[Path, Path]:
    return a_certificate(folder, password="open sesame")


def _strangers(folder: Path) -> tuple[Path, Path]:
    return a_certificate(folder / "one")[0], a_certificate(folder / "other")[1]


def _cut_off(folder: Path) -> tuple[Path, Path]:
    certificate, key = a_certificate(folder)
    certificate.write_text(certificate.read_text()[:200])
    return certificate, key


@pytest.mark.parametrize(
    ("made", "says", "hints"),
    [
        (_nowhere, "nowhere.pem' cannot be read: no such file or directory.", "--tls-cert"),
        (_no_key, "files' cannot be read: is a directory.", "--tls-key"),
        (_no_certificate, "key.pem' is no certificate.", "-----BEGIN CERTIFICATE-----"),
        (_twice_the_certificate, "cert.pem' is no key.", "--tls-key"),
        (_locked, "key.pem' has a password.", "--tls-key"),
        (_strangers, "cert.pem'.", "made together"),
        (_cut_off, "TLS files cannot be used: ", "--tls-cert"),
    ],
)
@pytest.mark.parametrize("how", [("--no-browser",), ("--detach",)])
def test_tls_files_that_cannot_be_used_are_told_before_anything_starts(
    tmp_path: Path, made: Files, says: str, hints: str, how: tuple[str, ...]
) -> None:
    home, (certificate, key) = tmp_path / "state", made(tmp_path / "files")
    words = ("serve", str(tmp_path), "--tls-cert", str(certificate), "--tls-key", str(key), *how)
    said = run_here(home, *words, code=2)
    # A narrow terminal breaks long paths anywhere.
    told, hint = ("".join(part.split()) for part in said.stderr.split("hint:"))
    assert told.startswith("error:")
    assert says.replace(" ", "") in told
    assert hints.replace(" ", "") in hint
    assert said.stdout == ""
    assert not list(home.glob("daemon*"))
