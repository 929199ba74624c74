"""Kernels: processes that run one notebook, and the open notebook everyone shares.

Owns:   the zygote, starting and ending kernels, the open notebook, environments, observations.
Above:  tools, runs, app.   Below: sandbox, notebook, and the guest's wire.
Never:  model calls, approvals, credentials, HTTP, unpickling anything.
"""

from cellwright.kernel.call import Call, RunWhat
from cellwright.kernel.environments import Environment, UvSettings
from cellwright.kernel.observation import (
    CellFault,
    CellFinished,
    CellOutcome,
    CellOutput,
    CellProgress,
    CellStarted,
    ConsoleText,
    Event,
    KernelEnd,
    KernelEnded,
    Observation,
    VariablePreview,
)
from cellwright.kernel.open_notebook import EditorLane, OpenNotebook
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.programs import ProgramEnd
from cellwright.kernel.workplace import Terrain
from cellwright.kernel.zygote import Zygote

__all__ = [
    "Call",
    "CellFault",
    "CellFinished",
    "CellOutcome",
    "CellOutput",
    "CellProgress",
    "CellStarted",
    "ConsoleText",
    "EditorLane",
    "Environment",
    "Event",
    "KernelEnd",
    "KernelEnded",
    "KernelPool",
    "Observation",
    "OpenNotebook",
    "ProgramEnd",
    "RunWhat",
    "Terrain",
    "UvSettings",
    "VariablePreview",
    "Zygote",
]
