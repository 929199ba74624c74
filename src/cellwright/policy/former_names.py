"""Names that were imported from the room itself, kept there for one version; each is loaded when it is used."""

from __future__ import annotations

import importlib
import warnings

_HOMES = {
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
}  # fmt: skip


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            message = f"`cellwright.policy.{name}` is imported from `cellwright.policy.{home}` now."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(f"cellwright.policy.{home}"), name)
    raise AttributeError(f"module 'cellwright.policy' has no attribute {name!r}")
