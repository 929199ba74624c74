"""How the stores of obstore are opened for each kind of connection."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast

import obstore.store
from obstore.exceptions import BaseError

from cellwright.data.connection_options import DEFAULT_REGION, read_buckets
from cellwright.data.file_stores.objects import ObjectFiles
from cellwright.data.file_stores.store import CONNECT_SECONDS, FileStore, joined
from cellwright.data.source_kinds import SourceKind
from cellwright.data.worker.source import SourceFailed, SourceLogin

_UNREADABLE: Final[dict[SourceKind, str]] = {
    "gcs": "that is not the key of a service account, which is a JSON object with `private_key` in it.",
    "azure": "that is neither an account key nor a shared access signature.",
}
_RETRY: Final = {"max_retries": 2, "retry_timeout": timedelta(seconds=30)}


def open_objects(kind: SourceKind, login: SourceLogin) -> FileStore:
    """The store. Nothing is asked yet. Raises `SourceFailed`."""
    try:
        return _open(kind, login)
    except BaseError:
        # What it says may have parts of the key in it.
        raise SourceFailed("login", _UNREADABLE.get(kind, "the library does not take its settings.")) from None


def _open(kind: SourceKind, login: SourceLogin) -> FileStore:
    options, client = login.options, _client(login)
    match kind:
        case "s3":
            return _s3(login, client)
        case "gcs":
            store: Any = obstore.store.GCSStore(
                options["bucket"],
                config={"service_account_key": login.secret} if login.secret else {"skip_signature": True},
                prefix=options.get("prefix") or None,
                client_options=client,
                retry_config=cast("Any", _RETRY),
            )
            return ObjectFiles("Google Cloud Storage", {"": store})
        case "azure":
            return ObjectFiles("Azure Blob Storage", {"": _azure(login, client)})
        case _:
            raise SourceFailed("other", f"{kind} has no objects.")


def _s3(login: SourceLogin, client: Any) -> FileStore:
    options, places = login.options, read_buckets(login.options["buckets"])
    if not login.secret:
        raise SourceFailed("login", "no secret access key is kept.")
    config: Any = {
        "access_key_id": options["access_key_id"],
        "secret_access_key": login.secret,
        "region": options.get("region", DEFAULT_REGION),
        "virtual_hosted_style_request": False,
    }
    if endpoint := options.get("endpoint"):
        config["endpoint"] = endpoint.rstrip("/")
    stores = {
        each.bucket: obstore.store.S3Store(
            each.bucket, config=config, client_options=client, retry_config=cast("Any", _RETRY)
        )
        for each in places
    }
    return ObjectFiles("S3", stores, tuple(joined(each.bucket, each.prefix) for each in places))


def _azure(login: SourceLogin, client: Any) -> Any:
    options, secret = login.options, login.secret
    config: Any = {"account_name": options["account"]}
    # A shared access signature is a query string; an account's key is base64.
    config |= {"sas_key": secret.lstrip("?")} if "sig=" in secret else {"account_key": secret} if secret else {}
    config |= {} if secret else {"skip_signature": True}
    if endpoint := options.get("endpoint"):
        config["endpoint"] = endpoint
    return obstore.store.AzureStore(
        options["container"],
        config=config,
        prefix=options.get("prefix") or None,
        client_options=client,
        retry_config=cast("Any", _RETRY),
    )


def _client(login: SourceLogin) -> Any:
    """Plain HTTP goes where the connection's address was allowed to be plain."""
    client: dict[str, Any] = {
        "allow_http": True,
        "connect_timeout": f"{CONNECT_SECONDS:g}s",
        "timeout": f"{login.seconds:g}s",
        "user_agent": "cellwright",
    }
    if authority := login.options.get("tls_ca"):
        client["root_certificate"] = _certificates(Path(authority))
    return client


def _certificates(file: Path) -> bytes:
    try:
        content = file.read_bytes()
        why = "" if b"-----BEGIN CERTIFICATE-----" in content else "there is no certificate in it"
    except OSError as problem:
        content, why = b"", problem.strerror or "it cannot be opened"
    if why:
        hint = "Give the whole path of a PEM file that is there."
        raise SourceFailed("tls", f"the file of `tls_ca` cannot be used: {why}.", hint=hint)
    return content
