"""Steering: what a person says to an agent at work, and that it should stop or pause. Heard before its next step.

Each run and each agent in it has a stream of its own for this; agents have no way to write there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import dataclass
from typing import Final

import anyio

from cellwright.agents.prompt.conversation import PersonMessage
from cellwright.errors import UserError
from cellwright.journal import EventLog, Fact, Question, Recorded
from cellwright.journal.names import run_of, stream_of
from cellwright.policy.approvals import Person

_LOOK_SECONDS: Final = 0.5
"""How often whoever waits for a model looks for a word to stop."""
_SAID: Final = "agent-say"
_STOPPED: Final = "agent-stop"
_HANDED_OVER: Final = "agent-hand-over"
_PAUSE: Final = "agent-pause"
_GO_ON: Final = "agent-go-on"
PAUSED: Final = "paused"
"""The topic of the question a paused run waits at; its one answer lets it go on."""
RESUME: Final = "resume"
_LONGEST: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringInput:
    """What came in since an agent last listened."""

    heard: tuple[PersonMessage, ...] = ()
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
    await _send(log, to, Fact(topic=_SAID, subject=person.name, text=text))


async def stop(log: EventLog, to: str, person: Person, reason: str = "") -> None:
    """Let the agents of a run, or the one of this workflow, stop before their next step, with what they have."""
    await _send(log, to, Fact(topic=_STOPPED, subject=person.name, text=reason))


async def hand_over(log: EventLog, to: str, person: Person, reason: str, *, order: int) -> None:
    """Let whoever is at work now stop with what there is: those that begin knowing this order are not meant."""
    told = Fact(topic=_HANDED_OVER, subject=person.name, text=reason, numbers={"order": order})
    await log.append(_stream(to), told)


async def pause(log: EventLog, to: str, person: Person) -> None:
    """Let the agents of a run pause before their next step."""
    await _send(log, to, Fact(topic=_PAUSE, subject=person.name))


async def unpause(log: EventLog, to: str, person: Person) -> None:
    """Let those that are about to pause or stop go on; one that waits already needs an answer to its question, too."""
    await _send(log, to, Fact(topic=_GO_ON, subject=person.name))


def pause_question(by: str) -> Question:
    """What a paused run waits for."""
    return Question(topic=PAUSED, text=f"Paused by {by}.", choices=(RESUME,))


async def read_steering(
    read: Callable[[str], AsyncIterable[Recorded]], workflow: str, before: SteeringInput, *, knows_order: int = 0
) -> SteeringInput:
    """What was said to this agent since; `read` is a flow's, inside a step."""
    upto, heard, stopped, paused = dict(before.upto), list[PersonMessage](), before.stop, ""
    for stream in dict.fromkeys((_stream(run_of(workflow)), _stream(workflow))):
        async for recorded in read(stream):
            event = recorded.event
            if recorded.sequence <= upto.get(stream, 0) or not isinstance(event, Fact):
                continue
            upto[stream] = recorded.sequence
            if event.topic == _SAID:
                heard.append(PersonMessage(by=event.subject, text=event.text))
            elif event.topic == _STOPPED:
                stopped = f"{event.subject} stopped it" + (f": {event.text}" if event.text else ".")
            elif event.topic == _HANDED_OVER and event.numbers.get("order", 0) > knows_order:
                stopped = event.text
            elif event.topic == _PAUSE:
                paused = event.subject
            elif event.topic == _GO_ON:
                paused = stopped = ""
    return SteeringInput(heard=tuple(heard), stop=stopped, pause=paused, upto=tuple(upto.items()))


async def wait_for_stop(
    read: Callable[[str], AsyncIterable[Recorded]], workflow: str, before: SteeringInput, *, knows_order: int = 0
) -> str:
    """Until somebody wants this agent to stop, in the middle of a step too; says who and why."""
    while True:
        await anyio.sleep(_LOOK_SECONDS)
        orders = await read_steering(read, workflow, before, knows_order=knows_order)
        if orders.stop:
            return orders.stop


async def follow_stops(log: EventLog, run: str) -> AsyncGenerator[None]:
    """Once for each time that somebody stops this run, from now on."""
    after = 0
    async for recorded in log.read_all(_stream(run)):
        after = recorded.sequence
    async for recorded in log.follow(_stream(run), after):
        if isinstance(recorded.event, Fact) and recorded.event.topic == _STOPPED:
            yield


async def _send(log: EventLog, to: str, fact: Fact) -> None:
    """Once for the agents, and once for whoever watches the run."""
    await log.append(_stream(to), fact)
    await log.append(stream_of(to), fact)


def _stream(workflow: str) -> str:
    return f"steering:{workflow}"
