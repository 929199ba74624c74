"""What a project directory is, and which of its files a notebook has no business reading."""

# A walk over every file of a project: strings from scandir, no objects per file.
# ruff: noqa: PTH123

from __future__ import annotations

import fnmatch
import os
import pwd
import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.sandbox.host.staging_directory import is_staging_name

_MARKERS = (".cellwright", ".git", "pyproject.toml")

_SECRET_DIRECTORIES = {".aws", ".ssh", ".gnupg", ".kube", ".azure", ".gcloud", ".password-store", ".terraform.d"}
_SECRET_NAMES = {
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".pypirc", ".git-credentials", ".htpasswd",
    ".vault-token", ".s3cfg", ".boto", ".databrickscfg", ".snowsql", "kubeconfig", "gha-creds.json",
    "secrets.toml", "secrets.yaml", "secrets.yml", "secrets.json", "application_default_credentials.json",
    "terraform.tfstate", "terraform.tfvars",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
}  # fmt: skip
_SECRET_PATTERNS = (
    ".env", ".env.*", ".env-*", ".envrc", "*.env", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.key",
    "credentials*.json", "*-credentials.json", "*_credentials.json", "client_secret*.json",
    "service-account*.json", "service_account*.json", "*.tfstate.backup",
)  # fmt: skip
_SECRET_PATHS = {".docker/config.json", ".config/gcloud", ".config/gh/hosts.yml", ".streamlit/secrets.toml"}
_HARMLESS_PATTERNS = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")

_SECRET = re.compile("|".join(fnmatch.translate(pattern) for pattern in _SECRET_PATTERNS))
_HARMLESS = re.compile("|".join(fnmatch.translate(pattern) for pattern in _HARMLESS_PATTERNS))
_KEY_NAME = re.compile(r"id_(rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk)\..*|.*\.(pem|asc|gpg)|identity")
_JSON_NAME = re.compile(r".*(account|service|gcp|google|firebase|auth|token|cred).*\.json|.*-[0-9a-f]{12}\.json")
_PRIVATE_KEY = re.compile(rb"PRIVATE KEY|PGP PRIVATE KEY BLOCK")
_SERVICE_ACCOUNT = re.compile(rb'"private_key"\s*:|"refresh_token"\s*:|"client_secret"\s*:')
_NPM_TOKEN = re.compile(rb"_authToken|_password|_auth\s*=")
_LOOKED_AT_BYTES = 64 * 1024


def project_of(notebook: Path) -> Path:
    """The directory a notebook belongs to: the nearest one with a project file, else its own.

    Never the home directory or the root: a cage around those would show everything a person has.
    """
    own = notebook.resolve().parent
    refused = {Path("/"), *homes()}
    for directory in (own, *own.parents):
        if directory in refused:
            break
        if any((directory / marker).exists() for marker in _MARKERS):
            return directory
    if own in refused:
        what = "the root of this machine" if own == Path("/") else "your home directory"
        raise UserError(
            f"The notebook {notebook.name!r} lies directly in {str(own)!r}, which is {what}: its project would be "
            "everything there, for its code to read and change.",
            hint=remedy(
                "allow_folder", lead="Move it into a folder of its own.", folder=shlex.quote(str(own)), what=what
            ),
        )
    return own


def homes() -> set[Path]:
    """Where the person is at home, as far as anybody knows."""
    places = [os.path.expanduser("~")]  # noqa: PTH111  leaves it as it is where nobody knows
    try:
        places.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        # A container may run as a user nobody has written down.
        pass
    return {Path(place).resolve() for place in places if place.startswith("/")}


def hidden_in(project: Path, reveal: Collection[str] = ()) -> tuple[str, ...]:
    """Paths relative to the project that look like secrets, are no plain files, or are on their way into it; sorted.

    `reveal` names paths (or patterns) to leave visible. Links are not followed and never hidden themselves: what they
    point to is, if it lies in the project.
    """
    found = _walk(os.fspath(project), "")
    return tuple(sorted(path for path in found if not any(fnmatch.fnmatch(path, pattern) for pattern in reveal)))


def _walk(directory: str, prefix: str) -> Iterator[str]:
    try:
        entries = os.scandir(directory)
    except OSError:
        return
    with entries:
        for entry in entries:
            path = prefix + entry.name
            if entry.is_symlink():
                yield from _secret_behind(entry, prefix)
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name in _SECRET_DIRECTORIES or path in _SECRET_PATHS or is_staging_name(entry.name):
                    yield path
                elif path != ".git":
                    yield from _walk(entry.path, path + "/")
            elif (
                not entry.is_file(follow_symlinks=False)
                or is_staging_name(entry.name)
                or _is_secret(entry.path, entry.name, path)
            ):
                yield path


def _secret_behind(link: os.DirEntry[str], prefix: str) -> Iterator[str]:
    """The file of the project that a link with a secret's name leads to."""
    if _is_secret(link.path, link.name, prefix + link.name):
        root = os.path.realpath(link.path.removesuffix(prefix + link.name))
        target = os.path.realpath(link.path)
        if target.startswith(root + "/") and os.path.lexists(target):
            yield os.path.relpath(target, root)


def _is_secret(full_path: str, name: str, path: str) -> bool:
    lower = name.lower()
    if lower in _SECRET_NAMES or any(path == end or path.endswith("/" + end) for end in _SECRET_PATHS):
        return True
    if _HARMLESS.fullmatch(lower):
        return False
    if _SECRET.fullmatch(lower):
        return True
    if _KEY_NAME.fullmatch(lower):
        return _contains(full_path, _PRIVATE_KEY)
    if _JSON_NAME.fullmatch(lower):
        return _contains(full_path, _SERVICE_ACCOUNT)
    return lower in {".npmrc", ".yarnrc", ".yarnrc.yml"} and _contains(full_path, _NPM_TOKEN)


def _contains(path: str, pattern: re.Pattern[bytes]) -> bool:
    """Whether the beginning of a file matches; a file we may not read is taken for a secret."""
    try:
        with open(path, "rb") as file:
            return pattern.search(file.read(_LOOKED_AT_BYTES)) is not None
    except OSError:
        return True
