"""Tools: what agents may do, guarded by policy and recorded in the journal.

Owns:   the guard before every action, questions to people and their answers, grants, the audit trail, rule files;
        tools and how they are called; the notebook desk; notebook, file, shell and web tools.
Above:  agents, runs, server, cli.   Below: kernel, sandbox, notebook, policy, journal.
Never:  prompts and model calls, screens, settings; what is allowed is policy's to say, what is kept the journal's.

Below are the names every door needs. What agents call loads kernels and marimo: import it from its own module.
"""

from cellwright.tools.approvals import APPROVAL, Desk, Kept, OnDesk, ask_approval
from cellwright.tools.audit_trail import AuditLine, audit_trail
from cellwright.tools.budget_questions import (
    BUDGET,
    BudgetAnswered,
    BudgetQuestion,
    BudgetReply,
    LeaveUncounted,
    PutPrice,
    Raise,
    ask_for_more,
)
from cellwright.tools.grants import read_grants
from cellwright.tools.guard import Guard, Permitted, Raised, Refused
from cellwright.tools.rule_files import RULE_FILE, rule_files, standing_rules

__all__ = [
    "APPROVAL",
    "BUDGET",
    "RULE_FILE",
    "AuditLine",
    "BudgetAnswered",
    "BudgetQuestion",
    "BudgetReply",
    "Desk",
    "Guard",
    "Kept",
    "LeaveUncounted",
    "OnDesk",
    "Permitted",
    "PutPrice",
    "Raise",
    "Raised",
    "Refused",
    "ask_approval",
    "ask_for_more",
    "audit_trail",
    "read_grants",
    "rule_files",
    "standing_rules",
]
