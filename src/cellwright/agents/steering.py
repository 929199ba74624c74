"""Steering: what a person says to an agent at work, and that it should stop or pause. Heard before its next step.

Each run and each agent in it has a stream of its own for this; agents have no way to write there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import dataclass
from typing import Final

import anyio

from cellwright.agents.events import HandOverAsked, PauseAsked, PersonSaid, StopAsked, UnpauseAsked
from cellwright.errors import UserError
from cellwright.journal.events import Recorded, RoomEvent
from cellwright.journal.log import EventLog
from cellwright.journal.names import run_of, stream_of
from cellwright.journal.questions import Question
from cellwright.policy.approvals import Person

_LOOK_SECONDS: Final = 0.5
"""How often whoever waits for a model looks for a word to stop."""
PAUSED: Final = "paused"
"""The topic of the question a paused run waits at; its one answer lets it go on."""
RESUME: Final = "resume"
_LONGEST: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringInput:
    """What came in since an agent last listened."""

    heard: tuple[PersonSaid, ...] = ()
    stop: str = ""
    """Who wants it to stop, and why; empty: nobody."""
    pause: str = ""
    """Who wants it to pause; empty: nobody."""
    upto: tuple[tuple[str, int], ...] = ()
    """The last event of each stream that was read."""


async def say(log: EventLog, to: str, text: str, person: Person) -> None:
    """Tell the agents of a run, or the one of this workflow, something before their next step."""
    if not text.strip() or len(text) > _LONGEST:
        raise UserError(f"A message has 1 to {_LONGEST:,} characters.", hint="Put longer texts in a file.")
    await _send(log, to, PersonSaid(by=person.name, text=text))


async def stop(log: EventLog, to: str, person: Person, reason: str = "") -> None:
    """Let the agents of a run, or the one of this workflow, stop before their next step, with what they have."""
    await _send(log, to, StopAsked(by=person.name, reason=reason))


async def hand_over(log: EventLog, to: str, person: Person, reason: str, *, order: int) -> None:
    """Let whoever is at work now stop with what there is: those that begin knowing this order are not meant."""
    await log.append(_stream(to), HandOverAsked(by=person.name, reason=reason, order=order))


async def pause(log: EventLog, to: str, person: Person) -> None:
    """Let the agents of a run pause before their next step."""
    await _send(log, to, PauseAsked(by=person.name))


async def unpause(log: EventLog, to: str, person: Person) -> None:
    """Let those that are about to pause or stop go on; one that waits already needs an answer to its question, too."""
    await _send(log, to, UnpauseAsked(by=person.name))


def pause_question(by: str) -> Question:
    """What a paused run waits for."""
    return Question(topic=PAUSED, text=f"Paused by {by}.", choices=(RESUME,))


async def read_steering(
    read: Callable[[str], AsyncIterable[Recorded]], workflow: str, before: SteeringInput, *, knows_order: int = 0
) -> SteeringInput:
    """What was said to this agent since; `read` is a flow's, inside a step."""
    upto, heard, stopped, paused = dict(before.upto), list[PersonSaid](), before.stop, ""
    for stream in dict.fromkeys((_stream(run_of(workflow)), _stream(workflow))):
        async for recorded in read(stream):
            if recorded.sequence <= upto.get(stream, 0):
                continue
            upto[stream] = recorded.sequence
            match recorded.event:
                case PersonSaid() as event:
                    heard.append(event)
                case StopAsked() as event:
                    stopped = event.line()
                case HandOverAsked(reason=reason, order=order) if order > knows_order:
                    stopped = reason
                case PauseAsked(by=by):
                    paused = by
                case UnpauseAsked():
                    paused = stopped = ""
                case _:
                    pass
    return SteeringInput(heard=tuple(heard), stop=stopped, pause=paused, upto=tuple(upto.items()))


async def wait_for_stop(
    read: Callable[[str], AsyncIterable[Recorded]], workflow: str, before: SteeringInput, *, knows_order: int = 0
) -> str:
    """Until somebody wants this agent to stop, in the middle of a step too; says who and why."""
    while True:
        await anyio.sleep(_LOOK_SECONDS)
        steering = await read_steering(read, workflow, before, knows_order=knows_order)
        if steering.stop:
            return steering.stop


async def follow_stops(log: EventLog, run: str) -> AsyncGenerator[None]:
    """Once for each time that somebody stops this run, from now on."""
    after = 0
    async for recorded in log.read_all(_stream(run)):
        after = recorded.sequence
    async for recorded in log.follow(_stream(run), after):
        if isinstance(recorded.event, StopAsked):
            yield


async def _send(log: EventLog, to: str, event: RoomEvent) -> None:
    """Once for the agents, and once for whoever watches the run."""
    await log.append(_stream(to), event)
    await log.append(stream_of(to), event)


def _stream(workflow: str) -> str:
    return f"steering:{workflow}"
