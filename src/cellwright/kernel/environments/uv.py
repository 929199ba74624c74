"""uv, told to install a plan's packages and nothing else: its command, its variables, what it says and how it fails.

It gets wheels only and our base interpreter, which it does not start in the new environment. Of the person's variables
only index, proxy and certificate settings reach it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.abc
from uv import find_uv_bin

from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.kernel.environments.plan import EnvironmentPlan
from cellwright.kernel.environments.script_header import bounded
from cellwright.remedies import Hint, remedy

_MESSAGE_LIMIT_CHARS = 1500
_OUTPUT_LIMIT_CHARS = 64 * 1024

_PASSED_VARIABLES = re.compile(
    r"(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|SSL_CLIENT_CERT|NETRC"
    r"|UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|INDEX_STRATEGY|INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)|FIND_LINKS"
    r"|OFFLINE|NATIVE_TLS|SYSTEM_CERTS|INSECURE_HOST|HTTP_TIMEOUT|HTTP_CONNECT_TIMEOUT|HTTP_RETRIES|EXCLUDE_NEWER)",
    re.IGNORECASE,
)
_YES = frozenset({"1", "true", "yes", "on", "y", "t"})

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class UvSettings:
    """How uv reaches packages: what the person configured, never what a notebook says."""

    index_url: str | None = field(default=None, repr=False)
    """The package index, in place of uv's own default."""
    extra_index_urls: tuple[str, ...] = field(default=(), repr=False)
    find_links: tuple[str, ...] = ()
    """Folders or pages with wheels, looked into besides the indexes."""
    no_index: bool = False
    """Only `find_links`."""
    offline: bool = False
    """Only what is already in uv's cache or on this machine."""
    other_caches: tuple[Path, ...] = ()
    """Further caches of uv, the person's own for one, that are looked into when the index cannot be reached."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The connection's settings, as variables; of these only index, proxy and certificate settings reach uv."""
    timeout_seconds: float = 600
    """For one environment: waiting for another builder, resolving, downloading and installing together."""
    binary: Path | None = None
    """Another uv than the one installed with Cellwright."""

    @property
    def is_offline(self) -> bool:
        """Whether the person wants no index to be asked."""
        return self.offline or self.variables.get("UV_OFFLINE", "").lower() in _YES

    @property
    def has_no_index(self) -> bool:
        """Whether the person wants only folders and pages of wheels to be looked into."""
        return self.no_index or self.variables.get("UV_NO_INDEX", "").lower() in _YES


class IndexUnreachable(Unavailable):
    """No index answered: what is on this machine may do. Never leaves this room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UvInstaller:
    """Resolves a plan's requirements; installs them into its build directory, for its sole builder."""

    plan: EnvironmentPlan
    uv: UvSettings
    report: Progress
    lock: int | None = None
    """What the sole builder holds."""

    @property
    def caches(self) -> tuple[Path, ...]:
        """Ours, and those that are looked into when the index cannot be reached."""
        return (self.plan.cache / "uv", *self.uv.other_caches)

    async def install(
        self,
        requirements: Path,
        cache: Path,
        *,
        is_offline: bool,
        has_dependencies: bool = True,
        is_locked: bool = False,
    ) -> None:
        """Install what the file lists, and what that needs in turn; nothing of uv is left running.

        With `is_locked` exactly what it lists, each by one of its hashes. Raises if it fails; `IndexUnreachable`: no
        index answers.
        """
        command = ["install", f"--prefix={self.plan.build_directory / 'venv'}", f"--requirements={requirements}"]
        command += ["--no-deps"] * (is_locked or not has_dependencies) + ["--require-hashes"] * is_locked
        await self._run(command, cache, is_offline=is_offline)

    async def resolve(self, requirements: Path, cache: Path, *, is_offline: bool) -> str:
        """The lock of what the file lists: every version and the hashes of its files. Raises as `install` does."""
        lock = requirements.with_name("lock.txt")
        command = ["compile", "--generate-hashes", "--no-annotate", "--no-header", f"--output-file={lock}"]
        await self._run([*command, str(requirements)], cache, is_offline=is_offline)
        return await anyio.Path(lock).read_text()

    async def _run(self, arguments: list[str], cache: Path, *, is_offline: bool) -> None:
        verb, *options = arguments
        command = [
            *(str(self.uv.binary or find_uv_bin()), "pip", verb, "--no-config", "--no-build", "--no-sources"),
            *("--color=never", "--no-progress", "--no-python-downloads", "--no-managed-python"),
            f"--python={self.plan.interpreter.executable}",
            f"--cache-dir={cache}",
        ]
        command += [*options, *["--no-index"] * self.uv.has_no_index, *["--offline"] * is_offline]
        process = await self._start(command)
        try:
            output = await _follow(process, self.report)
            code = await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                _kill_group(process)
                await process.aclose()
        if code != 0:
            raise _failure(self.plan, output, code)

    async def _start(self, command: list[str]) -> anyio.abc.Process:
        try:
            # uv inherits the lock: if we are killed, nobody touches the build directory before the orphan is done.
            return await anyio.open_process(
                command,
                cwd=self.plan.home,
                env=_uv_variables(self.plan, self.uv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=() if self.lock is None else (self.lock,),
                umask=0o022,
            )
        except OSError as error:
            raise Unavailable(
                f"uv could not be started: {error}.", hint="Install Cellwright again: uv is one of its packages."
            ) from error


def _uv_variables(plan: EnvironmentPlan, uv: UvSettings) -> dict[str, str]:
    """uv's whole environment. Addresses go here, not on the command line, where anyone can read their passwords."""
    theirs = {name: value for name, value in uv.variables.items() if _PASSED_VARIABLES.fullmatch(name)}
    if uv.index_url is not None:
        theirs["UV_DEFAULT_INDEX"] = uv.index_url
    if uv.extra_index_urls:
        theirs["UV_INDEX"] = " ".join(uv.extra_index_urls)
    if uv.find_links:
        theirs["UV_FIND_LINKS"] = ",".join(uv.find_links)
    return theirs | {"PATH": "/usr/bin:/bin", "HOME": str(plan.home)}


async def _follow(process: anyio.abc.Process, report: Progress) -> str:
    """Everything uv said, bounded; its progress is reported line by line."""
    assert process.stderr is not None
    output = pending = ""
    async for chunk in process.stderr:
        text = chunk.decode(errors="replace")
        output += text[: _OUTPUT_LIMIT_CHARS - len(output)]
        *lines, pending = (pending + text)[-_OUTPUT_LIMIT_CHARS:].split("\n")
        for line in lines:
            if line.lstrip().startswith(("Resolved", "Downloading", "Downloaded", "Prepared", "Installed")):
                report(bounded(line, 200))
    return output


def _kill_group(process: anyio.abc.Process) -> None:
    # Only while uv is unreaped is the number of its group certain to be still its own.
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _remedy(said: str) -> Hint:
    """What a person can do about an index that is not reached."""
    if "network was disabled" in said:
        return "Allow the network again (UV_OFFLINE is set), then try again."
    if "certificate" in said:
        lead = "Name your company's certificate authority in SSL_CERT_FILE;"
        return remedy("see_doctor", lead=lead, says="shows what is in force")
    lead = "Check the network, the proxy and the index;"
    return remedy("see_doctor", lead=lead, says="shows which are in force")


def _failure(plan: EnvironmentPlan, output: str, code: int) -> CellwrightError:
    """uv's own words, as an error sorted by who can act."""
    start = re.search(r"^\s*(error:|×)", output, re.MULTILINE)
    said = bounded(output[start.start() :] if start else output, _MESSAGE_LIMIT_CHARS)
    if re.search(r"No space left on device|Disk quota exceeded|os error 28\b", said):
        return Unavailable(f"The disk is full: {said}", hint="Make room, then open the notebook again.")
    if re.search(r"network was disabled|error sending request|Failed to fetch|dns error|timed out|Connection re", said):
        return IndexUnreachable(f"The package index cannot be reached: {said}", hint=_remedy(said))
    ours = " and ".join(one for one in plan.requirements if re.match(r"(marimo|msgspec)==", one))
    if re.search(r"No solution found|Failed to resolve", said):
        return UserError(
            f"The notebook's packages cannot be installed together with Cellwright's {ours}: {said}",
            hint="Change `dependencies` in the notebook's header. Only wheels are installed: a source build would run "
            "code on this machine.",
        )
    if re.search(r"wheel is invalid|Failed to (install|download|extract)|(Couldn't|Failed to) parse", said):
        return UserError(
            f"A package of the notebook is broken: {said}", hint="Ask for another version in the notebook's header."
        )
    return Unavailable(f"uv ended with {code}: {said}", hint="Try again; the notebook was not opened.")
