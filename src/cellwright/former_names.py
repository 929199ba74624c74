"""Names that were imported from a room itself, kept there for one version; each is loaded when it is used."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable

_HOMES = {
    "cellwright.agents": {
        "assignment": ("AgentReport", "Assignment", "Note"),
        "prompt.prompt": ("PromptPart", "Rank", "Weight", "assemble"),
        "role": ("Role",),
    },
    "cellwright.journal": {
        "effects": ("Effect",),
        "events": ("CostRecorded",),
        "flow": ("Flow", "Workflow"),
        "journal": ("Journal",),
        "questions": ("Question",),
        "records": ("Records",),
    },
    "cellwright.kernel": {
        "branches.branch": ("Committed",),
        "functions.cell_functions": ("BadCall", "CallFailed", "Returned"),
        "functions.notebook_function": ("call_notebook",),
        "pool": ("KernelPool",),
    },
    "cellwright.notebook": {
        "document": ("Document",),
        "edits": (
            "After", "AtEnd", "AtStart", "Before", "ConfigureCell", "CreateCell", "DeleteCell", "EditCell", "MoveCell",
            "RenameCell", "apply_edits",
        ),
        "files": ("new", "read", "save"),
    },
    "cellwright.policy": {
        "actions": ("UseNetwork",),
        "approvals": (
            "ApprovalQuestion", "ModelOrigin", "Pending", "Person", "QuestionId", "Yes", "answer", "grant_of",
        ),
        "audit": ("Actor",),
        "budgets": ("BudgetLedger", "Use", "UseId", "reserve", "settle"),
        "built_in": ("BUILT_IN_RULES",),
        "judgement": ("judge",),
        "masking.masker": ("Masker", "Secret"),
        "money": ("Money",),
        "rule_file": ("RuleText", "read_rules"),
    },
    "cellwright.sandbox": {
        "egress": ("AllowedHost", "Egress", "EgressRecord"),
        "host.tiers": ("probe",),
        "spec": ("Limits",),
    },
    "cellwright.tools": {
        "approval.guard": ("ActionRefused", "Guard"),
        "approval.inbox": ("Inbox",),
        "approval.rule_files": ("standing_rules",),
    },
}  # fmt: skip


def _former_names(room: str) -> Callable[[str], object]:

    def __getattr__(name: str) -> object:
        for home, names in _HOMES[room].items():
            if name in names:
                message = f"`{room}.{name}` is imported from `{room}.{home}` now."
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                return getattr(importlib.import_module(f"{room}.{home}"), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return __getattr__


# Each is the `__getattr__` of its room.
agents = _former_names("cellwright.agents")
journal = _former_names("cellwright.journal")
kernel = _former_names("cellwright.kernel")
notebook = _former_names("cellwright.notebook")
policy = _former_names("cellwright.policy")
sandbox = _former_names("cellwright.sandbox")
tools = _former_names("cellwright.tools")
