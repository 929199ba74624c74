"""Tools: what agents may do, guarded by policy and recorded in the journal.

Owns:   tools and how they are called; the guard before every action, questions to people and their answers, standing
        grants, the audit trail, rule files; the notebook editor; git; action programs.
Above:  agents, runs, server, cli.   Below: kernel, sandbox, analyst, notebook, policy, journal.
Never:  prompts and model calls, screens, settings; what is allowed is policy's to say, what is kept the journal's.

`tool` is the protocol and `callers` the wrappers around it; `approval/` asks people, `notebook/` changes a run's
notebook, `git/` and `actions/` work in cages of their own; `*_tools` are what agents call. Exported here are the names
every interface needs; what agents call loads kernels and marimo.
"""

from cellwright.tools.approval.approval_questions import ask_approval
from cellwright.tools.approval.budget_questions import LeaveUncounted, PutPrice, Raise
from cellwright.tools.approval.guard import ActionRefused, Guard
from cellwright.tools.approval.inbox import (
    Inbox,
    InboxItem,
    InboxReply,
    PlainAnswered,
    PlainKind,
    PlainQuestion,
    RecordedAnswer,
)
from cellwright.tools.approval.rule_files import standing_rules
from cellwright.tools.approval.typed_answers import TypedAnswer

__all__ = [
    "ActionRefused",
    "Guard",
    "Inbox",
    "InboxItem",
    "InboxReply",
    "LeaveUncounted",
    "PlainAnswered",
    "PlainKind",
    "PlainQuestion",
    "PutPrice",
    "Raise",
    "RecordedAnswer",
    "TypedAnswer",
    "ask_approval",
    "standing_rules",
]
