"""`cellwright doctor` shows which proxy, certificates and index are in force, from where, and no password."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.in_process import run_here
from tests.walled_network import PASSWORD


def test_doctor_shows_what_is_in_force_and_from_where_without_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "state"
    home.mkdir()
    (home / "network.toml").write_text(f'index = "https://token-{PASSWORD}@index.example/simple"\n')
    monkeypatch.setenv("https_proxy", f"http://ada:{PASSWORD}@proxy.example:3128")
    monkeypatch.setenv("UV_INDEX_CORP_PASSWORD", PASSWORD)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    said = run_here(home, "doctor", "--json").stdout
    assert PASSWORD not in said
    view = json.loads(said)
    shown = {one["name"]: (one["value"], one["source"]) for one in view["network"]}
    assert shown["HTTPS_PROXY"] == ("http://****@proxy.example:3128", "$https_proxy")
    assert shown["UV_DEFAULT_INDEX"] == ("https://****@index.example/simple", str(home / "network.toml"))
    assert shown["UV_INDEX_CORP_PASSWORD"] == ("****", "$UV_INDEX_CORP_PASSWORD")
    checks = {check["name"]: check for check in view["checks"]}
    assert checks["network: HTTPS_PROXY"]["detail"] == "http://****@proxy.example:3128 (from $https_proxy)"
    assert not checks["network: SSL_CERT_FILE"]["ok"]
    assert checks["network: SSL_CERT_FILE"]["consequence"] == "It is not there, so it is not used."
