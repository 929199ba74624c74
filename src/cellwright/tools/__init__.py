"""Tools: what agents may do, guarded by policy and recorded in the journal.

Owns:   the guard before every action, questions to people and their answers, grants, the audit trail, rule files.
Above:  agents, runs, server, cli.   Below: policy, journal.
Never:  prompts and model calls, screens, settings; what is allowed is policy's to say, what is kept the journal's.
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
