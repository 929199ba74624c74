"""Kernels: processes that run one notebook, and the open notebook everyone shares.

Owns:   the zygote, starting and ending kernels, the open notebook, branches, environments, observations.
Above:  tools, runs, app.   Below: sandbox, analyst (profiles), notebook, and the guest's wire.
Never:  model calls, approvals, credentials, HTTP, unpickling anything.

`session/` is the open notebook, `process/` kernels and one-shot processes, `branches/` forks and checkpoints,
`environments/` packages and interpreters, `functions/` cells as tools; `pool` opens notebooks, `observation` is what
a kernel reports.
"""

from cellwright.kernel.branches.branch import CommitRefused, Committed, Differs, Promoted
from cellwright.kernel.branches.branch_kernel import BranchLimits
from cellwright.kernel.environments.interpreters import PythonChoice, Pythons
from cellwright.kernel.environments.lookup import UvSettings
from cellwright.kernel.environments.packages import PackageInstall
from cellwright.kernel.functions.cell_functions import (
    BadCall,
    CallFailed,
    CallOutcome,
    CallStopped,
    CellFunction,
    NotebookValue,
    Returned,
)
from cellwright.kernel.functions.notebook_function import NotebookAnswer, call_notebook
from cellwright.kernel.observation import (
    CellFault,
    CellFinishedEvent,
    CellOutcome,
    CellOutput,
    CellProgress,
    CellStartedEvent,
    ConsoleText,
    Event,
    KernelEnd,
    KernelEnded,
    Observation,
    VariablePreview,
)
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.call import Call, CellSelection
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.process.side_calls import ProgramEnd
from cellwright.kernel.process.zygote import Zygote
from cellwright.kernel.session.open_notebook import EditorChannel, OpenNotebook

__all__ = [
    "BadCall",
    "BranchLimits",
    "Call",
    "CallFailed",
    "CallOutcome",
    "CallStopped",
    "CellFault",
    "CellFinishedEvent",
    "CellFunction",
    "CellOutcome",
    "CellOutput",
    "CellProgress",
    "CellSelection",
    "CellStartedEvent",
    "CommitRefused",
    "Committed",
    "ConsoleText",
    "Differs",
    "EditorChannel",
    "Event",
    "KernelEnd",
    "KernelEnded",
    "KernelOptions",
    "KernelPool",
    "NotebookAnswer",
    "NotebookValue",
    "Observation",
    "OpenNotebook",
    "PackageInstall",
    "ProgramEnd",
    "Promoted",
    "PythonChoice",
    "Pythons",
    "Returned",
    "UvSettings",
    "VariablePreview",
    "Zygote",
    "call_notebook",
]
