"""Programs as actions: an agent's small Python program, run in a cage of its own, paused at every tool call.

`worker` starts and continues programs; `steps` says where one stands; `contracts` turns tools into typed stubs and
`advice` a failure into words a model can use, both pure. `inside` is what runs in the cage. Who calls the tools, and
whether they may be called, is the caller's matter.
"""

from cellwright.sandbox.actions.contracts import ToolSignature, stubs
from cellwright.sandbox.actions.steps import (
    Failed,
    Failure,
    Finished,
    Json,
    Lost,
    Paused,
    ProgramLimits,
    Step,
    ToolCall,
)
from cellwright.sandbox.actions.worker import ActionWorker, ProgramRun

__all__ = [
    "ActionWorker",
    "Failed",
    "Failure",
    "Finished",
    "Json",
    "Lost",
    "Paused",
    "ProgramLimits",
    "ProgramRun",
    "Step",
    "ToolCall",
    "ToolSignature",
    "stubs",
]
