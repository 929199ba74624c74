"""Kernels: processes that run one notebook, and the open notebook everyone shares.

Owns:   the zygote, starting and ending kernels, the open notebook, environments, observations.
Above:  tools, runs, app.   Below: sandbox, notebook, and the guest's wire.
Never:  model calls, approvals, credentials, HTTP, unpickling anything.
"""

from cellwright.kernel.branch import Branch
from cellwright.kernel.branch_kernel import BranchLimits
from cellwright.kernel.branching import NoFork
from cellwright.kernel.call import Call, RunWhat
from cellwright.kernel.cell_functions import (
    BadCall,
    CallFailed,
    CallOutcome,
    CallStopped,
    CellFunction,
    Returned,
    Value,
)
from cellwright.kernel.checkpoints import Checkpoint, CheckpointBudget
from cellwright.kernel.committing import CommitRefused, Committed, Difference, Differs, Promoted
from cellwright.kernel.environments import Environment, UvSettings
from cellwright.kernel.interpreters import PythonChoice, Pythons
from cellwright.kernel.notebook_function import NotebookAnswer, call_notebook
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
    Way,
)
from cellwright.kernel.open_notebook import EditorLane, OpenNotebook
from cellwright.kernel.packages import Installed, MissingPackage, missing_packages
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.programs import ProgramEnd
from cellwright.kernel.workplace import Terrain
from cellwright.kernel.zygote import Zygote

__all__ = [
    "BadCall",
    "Branch",
    "BranchLimits",
    "Call",
    "CallFailed",
    "CallOutcome",
    "CallStopped",
    "CellFault",
    "CellFinished",
    "CellFunction",
    "CellOutcome",
    "CellOutput",
    "CellProgress",
    "CellStarted",
    "Checkpoint",
    "CheckpointBudget",
    "CommitRefused",
    "Committed",
    "ConsoleText",
    "Difference",
    "Differs",
    "EditorLane",
    "Environment",
    "Event",
    "Installed",
    "KernelEnd",
    "KernelEnded",
    "KernelPool",
    "MissingPackage",
    "NoFork",
    "NotebookAnswer",
    "Observation",
    "OpenNotebook",
    "ProgramEnd",
    "Promoted",
    "PythonChoice",
    "Pythons",
    "Returned",
    "RunWhat",
    "Terrain",
    "UvSettings",
    "Value",
    "VariablePreview",
    "Way",
    "Zygote",
    "call_notebook",
    "missing_packages",
]
