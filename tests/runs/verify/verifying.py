"""Verifying notebooks in tests: real kernels, real cages, environments from wheels that are made here."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellwright.app import Files
from cellwright.app.notebooks import kernel_options
from cellwright.kernel.pool import KernelPool
from cellwright.notebook.files import read
from cellwright.policy.masking.masker import Masker
from cellwright.runs.verify.fresh_environment import FreshEnvironments
from cellwright.runs.verify.judge import Machine
from cellwright.runs.verify.proof import Proof, Signer
from cellwright.runs.verify.verification import NotVerified, Verified, verify
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings
from tests.conftest import notebook_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """A state directory, a person's home and a warm pool."""

    pool: KernelPool
    other: KernelPool
    settings: Settings
    home: Path

    async def __call__(
        self,
        path: Path,
        *,
        data: tuple[str, ...] = (),
        on_progress: Callable[[str], None] = lambda _: None,
        **more: Any,
    ) -> Verified | NotVerified:
        """Verify a notebook; its folder is its project."""
        file = read(path)
        files = Files(project=path.parent, data=data)
        options = kernel_options(file, files=files, limits=Limits(), tier=probe().tier, settings=self.settings)
        return await verify(
            path,
            fresh=FreshEnvironments(pool=self.pool, options=options, other=self.other),
            signer=Signer.at(self.settings.ready_home()),
            machine=self.machine(path.parent),
            masker=Masker.of(salt=secrets.token_bytes(16)),
            on_progress=on_progress,
            **more,
        )

    def machine(self, project: Path) -> Machine:
        """This machine, with a home of its own."""
        return Machine(
            home=self.home,
            state=self.settings.home,
            temporary=self.home.parent / "temporary",
            project=project,
            cache=self.settings.cache,
        )

    async def proof(self, path: Path, **more: Any) -> Proof:
        """The proof of a notebook that must be verified."""
        result = await self(path, **more)
        assert isinstance(result, Verified), said(result)
        return result.proof

    async def refused(self, path: Path, **more: Any) -> NotVerified:
        """Why a notebook that must not be verified is not."""
        result = await self(path, **more)
        assert isinstance(result, NotVerified)
        assert result.reasons
        return result


def said(result: Verified | NotVerified) -> list[str]:
    """What speaks against it, in words."""
    return [reason.text for reason in result.reasons] if isinstance(result, NotVerified) else []


def source(*cells: str, requires: tuple[str, ...] | None = None) -> str:
    """A notebook with these cells and, unless None, a header that asks for these packages."""
    listed = "".join(f'#     "{one}",\n' for one in requires or ())
    header = f"# /// script\n# dependencies = [\n{listed}# ]\n# ///\n\n" if requires is not None else ""
    return header + notebook_source(*cells)
