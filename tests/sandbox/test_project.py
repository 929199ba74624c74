"""What counts as a project, and which of its files are secrets."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.sandbox.host.project import hidden_in, project_of

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n"

SECRETS = {
    ".env": "A=1",
    ".env.production": "A=1",
    "app/.env": "A=1",
    "prod.env": "A=1",
    "id_rsa": KEY,
    "deploy/id_ed25519": KEY,
    "server.pem": KEY,
    "tls.key": "x",
    "store.p12": "x",
    ".netrc": "x",
    ".pgpass": "x",
    ".pypirc": "x",
    ".git-credentials": "x",
    ".npmrc": "//registry/:_authToken=abc",
    "credentials.json": "{}",
    "credentials-prod.json": "{}",
    "my-service-account.json": '{"private_key": "x"}',
    "proj-0123456789ab.json": '{"private_key": "x"}',
    ".streamlit/secrets.toml": "x",
    ".docker/config.json": "{}",
    ".cellwright/secrets.toml": "x",
}
HARMLESS = {
    ".env.example": "A=",
    "ca.pem": "-----BEGIN CERTIFICATE-----",
    "id_rsa.pub": "ssh-rsa",
    "package.json": "{}",
    "keys.py": "",
    "monkey.csv": "",
    "environment.yml": "",
    "other/.npmrc": "save-exact=true",
    "accounts.json": "[1, 2]",
    "docker/config.json": "{}",
    ".git/config": "",
}


def fill(project: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(content)


def test_secrets_are_found_and_harmless_files_are_not(tmp_path: Path) -> None:
    fill(tmp_path, SECRETS | HARMLESS)
    assert hidden_in(tmp_path) == tuple(sorted(SECRETS))


def test_directories_of_secrets_are_hidden_whole(tmp_path: Path) -> None:
    fill(tmp_path, {".aws/credentials": "", "home/.ssh/known_hosts": "", ".kube/config": "", ".gnupg/x": ""})
    assert hidden_in(tmp_path) == (".aws", ".gnupg", ".kube", "home/.ssh")


def test_revealed_paths_stay_visible(tmp_path: Path) -> None:
    fill(tmp_path, {".env": "", "a/.env": "", "b/tls.key": ""})
    assert hidden_in(tmp_path, reveal=[".env", "b/*"]) == ("a/.env",)


def test_links_are_not_followed_but_what_a_secret_link_names_is_hidden(tmp_path: Path) -> None:
    fill(tmp_path / "project", {"conf/live": "A=1"})
    fill(tmp_path / "outside", {".env": "A=1"})
    (tmp_path / "project" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "project" / ".env").symlink_to("conf/live")
    (tmp_path / "project" / "loop").symlink_to(".")
    assert hidden_in(tmp_path / "project") == ("conf/live",)


def test_sockets_and_pipes_are_hidden(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        assert hidden_in(tmp_path) == ("pipe", "socket")


@pytest.mark.parametrize("marker", [".git", ".cellwright", "pyproject.toml"])
def test_a_project_is_the_nearest_directory_with_a_marker(tmp_path: Path, marker: str) -> None:
    fill(tmp_path, {f"p/{marker}/x" if marker.startswith(".") else f"p/{marker}": "", "p/a/b/nb.py": ""})
    assert project_of(tmp_path / "p/a/b/nb.py") == (tmp_path / "p").resolve()


def test_a_notebook_outside_any_project_has_its_own_directory(tmp_path: Path) -> None:
    fill(tmp_path, {"a/nb.py": ""})
    assert project_of(tmp_path / "a/nb.py") == (tmp_path / "a").resolve()


def test_the_home_directory_and_the_root_are_never_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    fill(home, {".git/config": "", "nb.py": "", "work/nb.py": ""})
    monkeypatch.setenv("HOME", str(home))
    assert project_of(home / "work/nb.py") == (home / "work").resolve()
    with pytest.raises(UserError, match="which is your home directory") as refused:
        project_of(home / "nb.py")
    assert refused.value.remedy == remedy(
        "allow_folder", lead="Move it into a folder of its own.", folder=str(home), what="your home directory"
    )
    with pytest.raises(UserError, match="which is the root of this machine"):
        project_of(Path("/nb.py"))


def test_a_user_nobody_has_written_down_has_projects_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 60_123)
    notebook = tmp_path / "notebook.py"
    notebook.touch()
    assert project_of(notebook) == tmp_path.resolve()
