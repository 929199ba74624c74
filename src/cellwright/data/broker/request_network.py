"""How whoever asks wants to be connected: by proxies and certificates of its command, not of the broker's first one."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_ASKED: Final[ContextVar[Mapping[str, str] | None]] = ContextVar("asked_network", default=None)


@contextmanager
def connecting_by(variables: Mapping[str, str] | None) -> Generator[None]:
    """What is asked in this block is connected by these; None: nobody said."""
    token = _ASKED.set(variables)
    try:
        yield
    finally:
        _ASKED.reset(token)


def request_network(own: Mapping[str, str]) -> dict[str, str]:
    """The settings of the request that is answered here, else the broker's own."""
    asked = _ASKED.get()
    return dict(own if asked is None else asked)


def worker_environment(environment: Mapping[str, str], network: Mapping[str, str]) -> dict[str, str]:
    """That of a worker: drivers that know no settings of ours read proxies and certificates from it."""
    names = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    return {name: value for name, value in environment.items() if name.upper() not in names} | {
        name: value for name, value in network.items() if name in names
    }
