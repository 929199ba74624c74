"""The one host key by which an SSH server is known: named by a person, and nothing is sent to another."""

from __future__ import annotations

from collections.abc import Mapping

import asyncssh

from cellwright.data.worker.source import SourceFailed


class PinnedHostKey(asyncssh.SSHClient):
    """Accepts the server that shows the key of `host_key`: a line of `known_hosts`, a key, or its fingerprint."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._host = options["host"]
        self._named = options.get("host_key", "")
        self._shown = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Whether it is the one."""
        self._shown = key.get_fingerprint()
        return bool(self._named) and self._shown == _fingerprint(self._named)

    def failure(self) -> SourceFailed:
        """Why it was not spoken with, and what to do."""
        if not self._named:
            return SourceFailed(
                "host_key",
                f"The host key of {self._host} is not known here: it shows {self._shown}.",
                hint=f"If whoever runs it names the same key, give the connection the option host_key={self._shown}.",
            )
        return SourceFailed(
            "host_key",
            f"{self._host} shows another host key than the one that was named: {self._shown}. Nothing was sent to it.",
            hint="Somebody may be in between. Ask whoever runs it before you name another host_key.",
        )


def _fingerprint(named: str) -> str:
    if named.startswith("SHA256:"):
        return named.strip()
    words = named.split()
    # A line of `known_hosts` begins with the host, a public key with its kind.
    key = " ".join(words[-2:] if len(words) == 3 and not words[0].startswith(("ssh-", "ecdsa-", "sk-")) else words[:2])
    try:
        return asyncssh.import_public_key(key).get_fingerprint()
    except asyncssh.KeyImportError:
        raise SourceFailed(
            "host_key", "The host_key of the connection cannot be read.", hint="Write SHA256:… or ssh-ed25519 AAAA…"
        ) from None
