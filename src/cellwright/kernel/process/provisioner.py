"""Where one notebook's kernels run: its project, its environment, its limits, and what becomes of changed files."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from cellwright.errors import RefusedByPolicy
from cellwright.kernel.environments.additions import distributions_in
from cellwright.kernel.environments.interpreters import Pythons
from cellwright.kernel.environments.lookup import Environment, UvSettings, environment_for, is_satisfied_by_ours
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.process.host_calls import HostService
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.one_shot import run_one_shot
from cellwright.kernel.process.zygote import CagedProcess, Zygote
from cellwright.kernel.process.zygote_process import package_paths
from cellwright.notebook.document import Document
from cellwright.sandbox.host.copy_plan import CopyPlan, plan_copy
from cellwright.sandbox.host.file_changes import KeepReport, UnkeptChanges, without_leftovers
from cellwright.sandbox.host.keep_terms import KeepTerms
from cellwright.sandbox.host.project import hidden_in
from cellwright.sandbox.linux import syscalls as machine
from cellwright.sandbox.linux.volumes import Volumes, mounted_in
from cellwright.sandbox.spec import PROTECTED, PROXY_PORT, CageSpec, DataMount, FilesMode, Limits, Tier
from cellwright_guest import wire

if TYPE_CHECKING:
    from cellwright.sandbox.egress import Egress

CAGE_UID = 54321
"""Whom a kernel runs as when we are root: a number nobody else has, so that limits count and files are not ours."""
_INSIDE = PurePosixPath("/project")
_ENVIRONMENT_MAIN = Path(wire.__file__).with_name("environment_main.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    """What the person allowed this notebook: files, data, limits, protection."""

    project: Path
    files: FilesMode = "keep"
    data: tuple[DataMount, ...] = ()
    limits: Limits = field(default_factory=Limits)
    tier: Tier = "A"
    reveal: tuple[str, ...] = ()
    """Paths of the project that are shown although they look like secrets."""
    environments: Path | None = None
    """Where built environments are cached; None refuses notebooks that need one."""
    environment: Environment | None = None
    """The very one its kernels get, whatever its header asks for; None: the one that it asks for."""
    uv: UvSettings = field(default_factory=UvSettings)
    pythons: Pythons = field(default_factory=Pythons)
    """Which interpreters a header may ask for."""
    on_progress: Callable[[str], None] | None = None
    ask_to_keep: Callable[[UnkeptChanges], Awaitable[bool]] | None = None
    """Who decides about more changed files than the limits let pass; None: they are not kept."""
    egress: Egress | None = None
    """Which hosts the notebook may reach; None: there is no network."""
    host_services: Mapping[str, HostService] = field(default_factory=dict[str, HostService])
    """What its running cells may ask of the host, by name."""


class KernelProvisioner:
    """Starts kernels for one notebook and settles what they changed."""

    def __init__(self, path: Path, options: KernelOptions, zygote: Callable[[], Awaitable[Zygote]]) -> None:
        self.path = path
        self.options = options
        self._zygote = zygote
        self.environment: Environment | None = None
        self.hidden: tuple[str, ...] = ()
        self.left_out: tuple[str, ...] = ()
        """What is not in the copy that a kernel works on, where it works on one."""
        self.volumes = Volumes()
        """What is mounted inside the project."""

    @property
    def python(self) -> str:
        """The version its kernel runs on."""
        interpreter = self.environment.interpreter if self.environment is not None else self.options.pythons.ours
        return interpreter.version

    async def start_kernel(self, document: Document) -> Kernel:
        """A new kernel for this notebook, in a cage of its own."""
        self.environment = await self.build(document)
        plan = await anyio.to_thread.run_sync(self._look_at_project)
        inside = _INSIDE / self.path.relative_to(self.options.project).as_posix()
        bind = wire.Bind(filename=str(inside), threads=len(os.sched_getaffinity(0)), app_config=dict(document.options))
        spec = self._spec(str(inside.parent))
        # A thousand files a second is slow for a disk that is not busy with anything else.
        copy_seconds = plan.files / 1_000
        return await Kernel.start(await self._zygote(), spec, bind, command=self._command(), copy_seconds=copy_seconds)

    async def run_program(
        self, document: Document, program: Path, question: bytes, *, most_bytes: int, seconds: float
    ) -> bytes:
        """What a program of ours answered beside this project, with the notebook's packages; no notebook runs in it.

        It gets the folders of packages as its arguments. What it changes is forgotten, and there is no network.
        """
        self.environment = await self.build(document)
        await anyio.to_thread.run_sync(self._look_at_project)
        inside = _INSIDE / self.path.relative_to(self.options.project).as_posix()
        spec = replace(self._spec(str(inside.parent)), files="drop", proxy_port=None, certificates="")
        own = self.environment
        python = str(own.python) if own is not None else str(getattr(sys, "_base_executable", sys.executable))
        packages = [*([str(own.site_packages)] if own is not None else []), *package_paths()]
        command = [python, "-I", "-S", "-B", str(program), *packages]
        return await run_one_shot(await self._zygote(), spec, command, question, most_bytes=most_bytes, seconds=seconds)

    async def start_program(self, document: Document, program: Path, *, software: Sequence[str] = ()) -> CagedProcess:
        """A program of ours that is spoken with for as long as its cage lives; `software` is what else it sees.

        What it changes is forgotten, and there is no network. Whoever asked ends it.
        """
        self.environment = await self.build(document)
        await anyio.to_thread.run_sync(self._look_at_project)
        inside = _INSIDE / self.path.relative_to(self.options.project).as_posix()
        spec = replace(self._spec(str(inside.parent)), files="drop", proxy_port=None, certificates="")
        spec = replace(spec, software=tuple(dict.fromkeys([*spec.software, *software])))
        python = str(getattr(sys, "_base_executable", sys.executable))
        command = [python, "-I", "-S", "-B", str(program), *package_paths()]
        return await (await self._zygote()).start(spec, command=command)

    async def lacking(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of these distributions that the notebook's own environment does not have."""
        if self.environment is None:
            return ()
        there = await anyio.to_thread.run_sync(distributions_in, [self.environment.site_packages])
        return tuple(name for name in names if name not in there)

    async def build(self, document: Document) -> Environment | None:
        """The environment this notebook asks for, None if that is ours, ready for its next kernel."""
        options = self.options
        if options.environment is not None:
            return options.environment
        header = header_of(document.header)
        if header is None or await anyio.to_thread.run_sync(is_satisfied_by_ours, header, options.pythons):
            return None
        if options.environments is None:
            raise RefusedByPolicy("This notebook asks for its own packages, and building environments is off here.")
        return await environment_for(
            header,
            cache=options.environments,
            uv=options.uv,
            pythons=options.pythons,
            on_progress=options.on_progress,
        )

    def distributions(self) -> dict[str, str]:
        """What its running kernel was started with, name → version. Blocking."""
        own = self.environment
        return distributions_in([own.site_packages] if own is not None else [Path(path) for path in package_paths()])

    async def settle_files(self, kernel: Kernel) -> KeepReport | None:
        """Carry the changed files over, when that was agreed."""
        options = self.options
        if options.files != "keep":
            return None
        terms = KeepTerms(limits=options.limits, ask=options.ask_to_keep, on_progress=options.on_progress)
        return await kernel.keep(options.project, terms)

    def derive(self, kind: type[KernelProvisioner], **options: Any) -> KernelProvisioner:
        """Another provisioner for the same notebook, with other options."""
        return kind(self.path, replace(self.options, **options), self._zygote)

    @property
    def is_copied(self) -> bool:
        """Whether a kernel works on a copy of the project."""
        if self.options.files == "direct":
            return False
        # Root alone has the project without what is mounted in it; see `cage`.
        return self.options.tier in {"C", "D"} or (bool(self.volumes.all) and not machine.is_root())

    def _look_at_project(self) -> CopyPlan:
        """What is mounted in it, hidden of it and left out of a copy, as of now. Blocking."""
        project = self.options.project
        self.volumes = mounted_in(str(project))
        hidden = without_leftovers(project, hidden_in(project, self.options.reveal))
        self.hidden = tuple(dict.fromkeys((*hidden, *self.volumes.closed)))
        plan = self._plan_copy()
        self.left_out = plan.left_out
        return plan

    def _plan_copy(self) -> CopyPlan:
        """What a kernel's copy of the project will hold; nothing where it has the project itself."""
        options = self.options
        if not self.is_copied:
            return CopyPlan()
        notebook = self.path.relative_to(options.project).as_posix()
        mounted = (*self.volumes.innermost, *self.volumes.files) if options.tier in {"A", "B"} else ()
        skipped = (*self.hidden, *PROTECTED, *mounted)
        plan = plan_copy(options.project, needed=[notebook], reveal=options.reveal, skipped=skipped)
        plan.check(options.project, options.limits, has_volumes=options.tier in {"A", "B"})
        return plan

    def _spec(self, cwd: str) -> CageSpec:
        options = self.options
        software = [sys.base_prefix, sys.prefix, *package_paths()]
        if self.environment is not None:
            software += [str(self.environment.path), *self.environment.interpreter.software]
        return CageSpec(
            name=f"cellwright-{os.getpid()}",
            tier=options.tier,
            project=str(options.project),
            files=options.files,
            hidden=self.hidden,
            left_out=self.left_out,
            data=options.data,
            software=tuple(dict.fromkeys(software)),
            limits=options.limits,
            uid=CAGE_UID,
            environment=_ENVIRONMENT if options.egress is None else _ENVIRONMENT | options.egress.environment(),
            cwd=cwd,
            # The document is the only authority over the notebook's own file.
            protected=(*PROTECTED, self.path.relative_to(options.project).as_posix()),
            proxy_port=None if options.egress is None else PROXY_PORT,
            certificates="" if options.egress is None else options.egress.certificates,
        )

    def _command(self) -> list[str] | None:
        if self.environment is None:
            return None
        guest_home = str(_ENVIRONMENT_MAIN.parent.parent)
        python = str(self.environment.python)
        return [python, "-I", "-S", "-B", str(_ENVIRONMENT_MAIN), str(self.environment.site_packages), guest_home]


_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/cell",
    "USER": "cell",
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    # Byte code next to a person's modules would show up among the changed files.
    "PYTHONDONTWRITEBYTECODE": "1",
}
