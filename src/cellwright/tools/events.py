"""The typed events of tools, each beside what tells it."""

from __future__ import annotations

from typing import Final

from cellwright.journal import RoomEvent
from cellwright.tools.approval.approval_questions import GrantGiven, GrantRevoked
from cellwright.tools.notebook.trial_records import BranchDropped, TrialRecord

TOOL_EVENT_TYPES: Final[tuple[type[RoomEvent], ...]] = (TrialRecord, BranchDropped, GrantGiven, GrantRevoked)
