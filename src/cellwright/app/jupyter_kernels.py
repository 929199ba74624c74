"""The kernels of Jupyter a person has, and those some work names. None is run to find out."""

from __future__ import annotations

import os
from collections.abc import Collection

from cellwright.errors import UserError
from cellwright.kernel.jupyter import has_jupyter
from cellwright.kernel.jupyter_kernelspecs import Kernelspec, find_kernelspecs
from cellwright.settings import Settings


def installed_kernelspecs(settings: Settings) -> dict[str, Kernelspec]:
    """By name. Blocking."""
    variables = settings.environment
    return find_kernelspecs(settings.user_home, variables.get("JUPYTER_PATH", ""), variables.get("PATH", os.defpath))


def chosen_kernelspecs(names: Collection[str], settings: Settings) -> dict[str, Kernelspec]:
    """Those of these names. Raises `UserError`. Blocking."""
    if not names:
        return {}
    if not has_jupyter():
        raise UserError(
            "What speaks with kernels of Jupyter is not installed.", hint="pip install 'cellwright[jupyter]'"
        )
    known = installed_kernelspecs(settings)
    for name in names:
        if name not in known:
            hint = f"Here is: {', '.join(known) or 'none'}."
            raise UserError(f"No kernel of Jupyter is called {name[:80]!r}.", hint=hint)
    return {name: known[name] for name in names}
