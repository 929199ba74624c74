"""Journal: long work that survives anything, and one record of everything.

Owns:   the event log, durable runs and steps, effects, questions, queues, leases, recovery, projections, retention.
Above:  tools, agents, runs, server, cli.   Below: errors, ids.
Never:  what is allowed (policy), what things cost (models), model calls, kernels, HTTP.

`journal` opens one, `engine` runs workflows (by DBOS), `flow` is what a workflow sees; `events` are stored by name and
`log` keeps them in chained streams; `records` is what any process can read; `maintenance` backs up and prunes.
"""

from cellwright.journal.chain import read_key
from cellwright.journal.crash import CrashPoint, crash_at
from cellwright.journal.effects import (
    AGAIN,
    HAPPENED,
    IN_DOUBT,
    Effect,
    EffectFinding,
    EffectFound,
    EffectNotFound,
    EffectUnknown,
)
from cellwright.journal.events import (
    AuditRecorded,
    CostRecorded,
    EffectInDoubt,
    Event,
    Fact,
    QuestionAnswered,
    QuestionAsked,
    QuestionWithdrawn,
    Recorded,
    RoomEvent,
    RunEnded,
    RunForked,
    RunRecovered,
    RunResumed,
    RunStarted,
    StepErred,
    StepFinished,
    StepStarted,
    TaskChanged,
)
from cellwright.journal.flow import Flow, Rate, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.leases import Lease, LeaseConflict, LeaseLost
from cellwright.journal.log import EventLog
from cellwright.journal.names import QuestionId, RunId, stream_of
from cellwright.journal.questions import OpenQuestion, Question
from cellwright.journal.records import Records, RunStatus, Standing
from cellwright.journal.values import Json, StepFailed, masked_json

__all__ = [
    "AGAIN",
    "HAPPENED",
    "IN_DOUBT",
    "AuditRecorded",
    "CostRecorded",
    "CrashPoint",
    "Effect",
    "EffectFinding",
    "EffectFound",
    "EffectInDoubt",
    "EffectNotFound",
    "EffectUnknown",
    "Event",
    "EventLog",
    "Fact",
    "Flow",
    "Journal",
    "Json",
    "Lease",
    "LeaseConflict",
    "LeaseLost",
    "OpenQuestion",
    "Question",
    "QuestionAnswered",
    "QuestionAsked",
    "QuestionId",
    "QuestionWithdrawn",
    "Rate",
    "Recorded",
    "Records",
    "RoomEvent",
    "RunEnded",
    "RunForked",
    "RunId",
    "RunRecovered",
    "RunResumed",
    "RunStarted",
    "RunStatus",
    "Standing",
    "StepErred",
    "StepFailed",
    "StepFinished",
    "StepStarted",
    "TaskChanged",
    "Workflow",
    "crash_at",
    "masked_json",
    "read_key",
    "stream_of",
]
