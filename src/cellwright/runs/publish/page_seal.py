"""A page that asks its own host alone: the browser is told so in the page, and its workers refuse the rest.

A page's policy does not hold for its workers, which are files of their own: they are guarded in code, against what is
asked by mistake, not against a notebook that is out to get around it.
"""

from __future__ import annotations

import re
from typing import Final

from cellwright.errors import Unavailable
from cellwright.runs.publish.offline_packages import WORKER_PACKAGES
from cellwright.runs.publish.offline_page import PYODIDE_FOLDER
from cellwright.runs.publish.pyodide_mirror import LOCK_FILE

OFFLINE_RUNTIME: Final = {
    "pyodide_index_url": f"./{PYODIDE_FOLDER}/",
    "pyodide_lockfile_url": f"./{PYODIDE_FOLDER}/{LOCK_FILE}",
    "pypi_index_url": f"./{PYODIDE_FOLDER}/index",
}
"""Where the page has Python from, as marimo's exporter calls it. There is no index: micropip then takes the lock."""
_POLICY: Final = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:\" />"
)
_HEAD: Final = "<head>"
_ASKED_PACKAGES: Final = re.compile(r"packages:\[([^\]]{0,400})\]")
_QUOTED: Final = re.compile(r"`([^`]+)`")
_WORKER_WORDS: Final = (
    "pyodideIndexUrl??",
    "pyodideLockfileUrl??",
    "set_index_urls",
    "packageBaseUrl:",
    "`marimo-base`",
)
_GUARD: Final = """{
const own = self.location.host;
const asked = (to) => {
  const { protocol, host } = new URL(to instanceof Request ? to.url : to, self.location);
  if (protocol !== "blob:" && protocol !== "data:" && host !== own)
    throw new TypeError(`This page is offline: it asks its own host alone, not ${host}.`);
  return to;
};
const { fetch, WebSocket, EventSource } = self;
const open = XMLHttpRequest.prototype.open;
self.fetch = async (to, ...rest) => fetch(asked(to), ...rest);
XMLHttpRequest.prototype.open = function (method, to, ...rest) { return open.call(this, method, asked(to), ...rest); };
self.WebSocket = class extends WebSocket { constructor(to, ...rest) { super(asked(to), ...rest); } };
self.EventSource = class extends EventSource { constructor(to, ...rest) { super(asked(to), ...rest); } };
}
"""


def sealed_page(html: str) -> str:
    """The page with a policy before everything it loads."""
    if html.count(_HEAD) < 1 or any(f'="{one}"' not in html for one in OFFLINE_RUNTIME.values()):
        raise _unexpected("page")
    return html.replace(_HEAD, _HEAD + _POLICY, 1)


def sealed_worker(source: str, *, version: str) -> str:
    """A worker that asks nobody else. Raises `Unavailable` if it would not load what the page has beside it."""
    asked = {tuple(_QUOTED.findall(found)) for found in _ASKED_PACKAGES.findall(source)}
    expected = tuple(one for one in WORKER_PACKAGES if one != "marimo-base")
    if expected not in asked or f"`{version}`" not in source or any(word not in source for word in _WORKER_WORDS):
        raise _unexpected("workers")
    return _GUARD + source


def _unexpected(what: str) -> Unavailable:
    return Unavailable(
        f"The {what} of the marimo that is installed here cannot be pointed to a mirror: it is not as expected.",
        hint="Install the version of marimo that Cellwright pins, or let the page load Python from marimo's hosts.",
    )
