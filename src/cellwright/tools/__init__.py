"""Tools: what agents may do, guarded by policy and recorded in the journal.

Owns:   tools and how they are called; the guard before every action, questions to people and their answers, standing
        grants, the audit trail, rule files; the notebook editor; git; action programs.
Above:  agents, runs, server, cli.   Below: kernel, sandbox, analyst, notebook, policy, journal.
Never:  prompts and model calls, screens, settings; what is allowed is policy's to say, what is kept the journal's.

`tool` is the protocol and `callers` the wrappers around it; `approval/` asks people, `notebook/` changes a run's
notebook, `git/` and `actions/` work in cages of their own; `*_tools` are what agents call. Exported here are the names
every interface needs; what agents call loads kernels and marimo.
"""

from cellwright.tools.approval.approval_questions import APPROVAL, ask_approval, read_grants
from cellwright.tools.approval.audit_trail import AuditTrailLine, audit_trail
from cellwright.tools.approval.budget_questions import (
    BUDGET,
    BudgetAnswered,
    BudgetQuestion,
    BudgetReply,
    LeaveUncounted,
    PutPrice,
    Raise,
    ask_for_more,
)
from cellwright.tools.approval.guard import ActionPermitted, ActionRefused, BudgetRaised, Guard
from cellwright.tools.approval.inbox import (
    Inbox,
    InboxItem,
    InboxReply,
    NoSuchQuestion,
    PlainAnswered,
    PlainKind,
    PlainQuestion,
    QuestionKind,
    RecordedAnswer,
)
from cellwright.tools.approval.rule_files import RULE_FILE, rule_files, standing_rules
from cellwright.tools.approval.typed_answers import TypedAnswer

__all__ = [
    "APPROVAL",
    "BUDGET",
    "RULE_FILE",
    "ActionPermitted",
    "ActionRefused",
    "AuditTrailLine",
    "BudgetAnswered",
    "BudgetQuestion",
    "BudgetRaised",
    "BudgetReply",
    "Guard",
    "Inbox",
    "InboxItem",
    "InboxReply",
    "LeaveUncounted",
    "NoSuchQuestion",
    "PlainAnswered",
    "PlainKind",
    "PlainQuestion",
    "PutPrice",
    "QuestionKind",
    "Raise",
    "RecordedAnswer",
    "TypedAnswer",
    "ask_approval",
    "ask_for_more",
    "audit_trail",
    "read_grants",
    "rule_files",
    "standing_rules",
]
