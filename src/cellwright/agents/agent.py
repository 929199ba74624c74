"""One agent at work: its state, and the verbs of its loop. All of the state follows from recorded steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, assert_never

from cellwright.agents.assignment import AgentReport, Assignment, Outcome
from cellwright.agents.composing import Brief, Moment, compose, is_compacted
from cellwright.agents.context import Prompt, fence
from cellwright.agents.history import Became, Did, Heard, Turn, times_repeated
from cellwright.agents.kept_contexts import Known, context_fact, encode, known_after, read_pictures
from cellwright.agents.mending_step import Made, Mended, Mender
from cellwright.agents.steering import Orders, listen, pause_question, until_stopped
from cellwright.agents.studio import Studio
from cellwright.agents.styles import FINISH, Actions, Malformed, Words, arguments_text, offered, read_answer, spoken
from cellwright.agents.surroundings import Seen
from cellwright.agents.thinking import (
    Answer,
    Lost,
    NoModel,
    OverBudget,
    TakenBack,
    Thinker,
    limits_after,
    read_response,
)
from cellwright.journal import CostRecorded, Fact, Flow, Question
from cellwright.policy import Limit
from cellwright.tools.calling import Guarded
from cellwright.tools.guard import Raised, Refused
from cellwright.tools.tool import Done, Refusal, ToolCall, ToolError, ToolResult, result_text

_FIRST_LOOK_SHARE: Final = 0.25
_LATER_LOOK_TOKENS: Final = 600
"""The results of its own calls tell an agent what changed; a short reminder is enough."""
_SAME_AT_MOST: Final = 5
SAYS: Final = "says"
"""The topic of a fact with what an agent said besides its calls."""
_TOLD_CHARACTERS: Final = 500
_ASK_AGAIN: Final = "ask again, and perhaps pay twice"
_STOP: Final = "stop here"
_CALL_SOMETHING: Final = "Nothing was done. Call a tool, or finish when the goal is reached."
_SAME_AGAIN: Final = "You did exactly this before, with exactly this outcome. Do something else, or ask."
_NOT_FINISHED: Final = "Not finished: a call before it in the same answer did not work. Read its result first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Why the work is over."""

    outcome: Outcome
    why: str = ""
    summary: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What a look around found, as its step keeps it."""

    orders: Orders
    seen: tuple[Seen, ...]


@dataclass(slots=True)
class _Used:
    """What was used so far; follows from recorded answers."""

    limits: tuple[Limit, ...]
    tokens: int = 0
    microdollars: int = 0
    artifacts: dict[str, None] = field(default_factory=dict[str, None])


class Agent:
    """The state of one assignment. All of it follows from recorded steps."""

    def __init__(self, flow: Flow, assignment: Assignment, studio: Studio, brief: Brief) -> None:
        self._flow = flow
        self._assignment = assignment
        self._studio = studio
        self._brief = brief
        self._caller: Guarded = studio.caller(brief.role, flow.id, is_attended=assignment.is_attended)
        self._toolset = self._caller.toolset
        self._offered = offered(self._toolset, brief.style)
        self._thinker = Thinker(
            models=studio.models,
            assignment=assignment,
            role=brief.role,
            style=brief.style,
            person=studio.person,
            tools=self._offered.definitions(),
        )
        self._turns: list[Turn] = []
        self._orders = Orders()
        self._heard: tuple[Heard, ...] = ()
        self._news = ""
        self._known: Known = {}
        self._used = _Used(limits=assignment.limits)
        self._mended = Mended()
        self._mender = Mender(
            flow=flow,
            caller=self._caller,
            survey=studio.survey,
            put_into_effect=studio.put_into_effect,
            is_attended=assignment.is_attended,
        )

    @property
    def _step(self) -> int:
        """The step that is to come or goes on: 1, 2, 3 …"""
        return len(self._turns) + 1

    # ── whether to go on ──

    def is_over(self) -> Ended | None:
        """Whether the role's own budget is used up, or it goes round in circles."""
        role, turns = self._brief.role, self._turns
        if len(turns) >= role.steps:
            return Ended(outcome="out-of-budget", why=f"All {role.steps} steps of a {role.name} are used.")
        if self._used.tokens >= role.tokens:
            return Ended(outcome="out-of-budget", why=f"All {role.tokens:,} tokens of a {role.name} are used.")
        if turns and times_repeated(turns) >= _SAME_AT_MOST:
            return Ended(outcome="gave-up", why=f"It did the same {_SAME_AT_MOST} times, with the same outcome.")
        return None

    def is_stopped(self) -> Ended | None:
        """Whether a person wants it to stop."""
        return Ended(outcome="stopped", why=self._orders.stop) if self._orders.stop else None

    # ── look around ──

    async def look_around(self) -> tuple[Seen, ...]:
        """What there is to see and what people said, kept in one step."""
        is_first = not self._turns or is_compacted(self._turns, self._brief)
        tokens = int(self._brief.role.context_tokens * _FIRST_LOOK_SHARE) if is_first else _LATER_LOOK_TOKENS

        async def look() -> _Look:
            orders = await listen(
                self._flow.read, self._flow.id, self._orders, knows_order=self._assignment.orders_heard
            )
            seen = [await sight.look(tokens) for sight in self._studio.sights]
            return _Look(orders=orders, seen=tuple(self._masked(each) for each in seen))

        found = await self._flow.step(f"look {self._step}", look, returns=_Look)
        if found.orders.pause and not found.orders.stop:
            await self._flow.ask(pause_question(found.orders.pause))
        self._orders = found.orders
        self._heard = found.orders.heard
        self._news = "\n".join(each.news for each in found.seen if each.news)
        return found.seen

    def _masked(self, seen: Seen) -> Seen:
        mask = self._studio.masker.mask
        parts = tuple(replace(part, text=mask(part.text).text) for part in seen.parts)
        return Seen(parts=parts, news=mask(seen.news).text)

    # ── think ──

    def compose(self, seen: Sequence[Seen]) -> Prompt:
        """What the model reads now."""
        before = Turn(number=self._step, heard=self._heard, news=self._news)
        advice = self._advice()
        moment = Moment(step=self._step, before=before, seen=seen, advice=advice)
        return compose(self._brief, self._toolset, self._thinker.tools, self._turns, moment)

    def _advice(self) -> str:
        """What to consider about failures that were not mended, with what that needs; what is data, fenced."""
        mended = self._mended
        advised = [self._studio.advise(turns) for turns in _to_advise_on(self._turns, mended)]
        material = [fence(each.text, nonce=self._brief.nonce, source=each.name) for each in mended.material]
        return "\n".join(dict.fromkeys(each for each in [*advised, *mended.words, *material] if each))

    async def think(self, prompt: Prompt) -> Answer | Ended:
        """The model's answer, asked for until there is one or somebody says to stop."""
        again, attempt = False, 1
        pictures = await read_pictures(self._studio.kept, prompt)
        while True:
            limits = self._used.limits
            call = self._thinker.call(self._flow, self._step, prompt, limits, pictures=pictures, again=again)
            name = f"think {self._step}" if attempt == 1 else f"think {self._step} again {attempt}"
            thought = await self._thinker.think(self._flow, name, call, lambda: self._keep(prompt), self._until_stopped)
            attempt += 1
            match thought:
                case Answer():
                    return thought
                case OverBudget():
                    if (ended := await self._ask_for_more(thought)) is not None:
                        return ended
                case Lost():
                    if (ended := await self._ask_whether_again(thought)) is not None:
                        return ended
                    again = True
                case TakenBack(why=""):
                    return Ended(outcome="cancelled", why="The call to the model was cancelled.")
                case TakenBack(why=who):
                    return Ended(outcome="stopped", why=who)
                case NoModel(message=message):
                    return Ended(outcome="gave-up", why=message)
                case _:
                    assert_never(thought)

    async def _until_stopped(self) -> str:
        heard = self._assignment.orders_heard
        return await until_stopped(self._flow.read, self._flow.id, self._orders, knows_order=heard)

    async def _keep(self, prompt: Prompt) -> str:
        return await self._studio.kept.keep(f"{self._flow.id}#{self._step}", encode(prompt, self._known))

    async def _ask_for_more(self, stopped: OverBudget) -> Ended | None:
        """Pause until a person raises the limit; None to go on."""
        if not self._assignment.is_attended:
            return Ended(outcome="out-of-budget", why=stopped.question)
        who = self._studio.actor(self._brief.role, self._flow.id)
        match await self._studio.guard.ask_for_more(self._flow, stopped.stop(self._used.limits), who):
            case Raised(ledger=ledger):
                self._used.limits = limits_after(self._used.limits, ledger, self._flow.run, stopped)
                return None
            case Refused(feedback=feedback):
                return Ended(outcome="out-of-budget", why=feedback)

    async def _ask_whether_again(self, lost: Lost) -> Ended | None:
        """Nobody knows whether the call was answered and paid; None to ask again."""
        ended = Ended(outcome="gave-up", why=f"Nobody knows what came of a call to {lost.model}.")
        if self._assignment.if_unknown == "again":
            return None
        if self._assignment.if_unknown == "stop" or not self._assignment.is_attended:
            return ended
        text = f"A call to {lost.model} was sent at {lost.sent_at}, and its answer was lost. It may have been paid."
        question = Question(topic="model-answer-lost", text=text, choices=(_ASK_AGAIN, _STOP))
        said: Any = await self._flow.ask(question)
        picked = said.get("choice") if isinstance(said, dict) else said
        return None if picked == _ASK_AGAIN else ended

    async def tell(self, prompt: Prompt, answer: Answer) -> None:
        """What the step read and cost, for whoever watches."""
        used = self._used
        used.tokens += answer.input_tokens + answer.output_tokens
        used.microdollars += answer.microdollars or 0
        self._known = known_after(prompt, self._known, answer.context)
        cost = CostRecorded(
            what=answer.model,
            microdollars=answer.microdollars or 0,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            workflow=self._flow.id,
            is_price_known=answer.microdollars is not None,
        )
        said = spoken(read_response(answer))
        told = [Fact(topic=SAYS, subject=self._flow.id, text=said[:_TOLD_CHARACTERS])] if said else []
        await self._flow.tell(context_fact(self._flow.id, self._step, answer.context, prompt), cost, *told)

    # ── act ──

    async def act(self, answer: Answer) -> Ended | None:
        """Do what the model wants, and remember what came of it."""
        style = self._brief.style
        self._mended = Mended()
        reading = read_answer(read_response(answer), step=self._step, style=style, tools=self._offered)
        match reading:
            case Actions():
                return await self._do(reading)
            case Words(said=said):
                return self._take_words(said)
            case Malformed(said=said, feedback=feedback):
                self._add(said=said, feedback=feedback)
                return None
            case _:
                assert_never(reading)

    async def _do(self, actions: Actions) -> Ended | None:
        results = await self._call(actions.calls)
        did = tuple(_did(call, result) for call, result in zip(actions.calls, results, strict=True))
        for result in results:
            if isinstance(result, Done) and isinstance(result.value, dict) and "artifact" in result.value:
                self._used.artifacts[str(result.value["artifact"])] = None
        ending = next((result for result in results if isinstance(result, Done) and result.ends), None)
        if ending is not None:
            self._add(said=actions.said, did=did, feedback=actions.note)
            return _finished(ending)
        mended = self._mended = await self._mender.mend(self._step, actions.calls, results)
        more = tuple(_did_for_it(each) for each in mended.made)
        self._add(said=actions.said, did=(*did, *more), feedback=f"{actions.note} {mended.feedback}".strip())
        if mended.gives_up:
            return Ended(outcome="gave-up", why=mended.gives_up)
        return Ended(outcome="stopped", why=mended.stops) if mended.stops else None

    async def _call(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The calls in order. Finishing counts only if what was called with it worked."""
        *before, last = calls
        if last.name != FINISH or not before:
            return await self._caller.call_all(self._flow, calls)
        results = await self._caller.call_all(self._flow, before)
        if all(_became(result) == "done" for result in results):
            return [*results, await self._caller.call(self._flow, last)]
        return [*results, ToolError(kind="conflict", message=_NOT_FINISHED)]

    def _take_words(self, said: str) -> Ended | None:
        """Words alone are the answer where nothing can be called to finish, or when they come twice."""
        before = self._turns[-1] if self._turns else None
        is_second = before is not None and before.feedback == _CALL_SOMETHING and not before.did
        if FINISH not in self._offered or is_second:
            self._add(said=said)
            return Ended(outcome="finished", summary=said, answer=said)
        self._add(said=said, feedback=_CALL_SOMETHING)
        return None

    def _add(self, *, said: str, did: tuple[Did, ...] = (), feedback: str = "") -> None:
        turn = Turn(number=self._step, said=said, did=did, feedback=feedback, heard=self._heard, news=self._news)
        if did and times_repeated([*self._turns, turn]) > 1:
            turn = replace(turn, feedback=f"{feedback} {_SAME_AGAIN}".strip())
        self._turns.append(turn)

    # ── report ──

    def report(self, end: Ended) -> AgentReport:
        """What came of it; of work that did not finish, the last the agent said."""
        last = next((turn.said for turn in reversed(self._turns) if turn.said.strip()), "")
        return AgentReport(
            outcome=end.outcome,
            summary=end.summary or last,
            answer=end.answer,
            why=end.why,
            turns=len(self._turns),
            artifacts=tuple(self._used.artifacts),
            tokens=self._used.tokens,
            microdollars=self._used.microdollars,
            failed_turns=sum(turn.has_failed for turn in self._turns),
            limits=self._used.limits,
        )


# ── advice ──


def _to_advise_on(turns: list[Turn], mended: Mended) -> list[list[Turn]]:
    """The turns as whoever advises should see them: without failures that are dealt with.

    A mend that did not help comes after what it was for: the next thing to do is another.
    """
    if not turns or not (mended.settled or mended.made):
        return [turns]
    *before, last = turns
    made = {each.call.id for each in mended.made}
    own = tuple(did for did in last.did if did.id not in made)
    left = tuple(did for did in own if did.id not in mended.settled)
    seen = [[*before, replace(last, did=left)]]
    if made:
        tried = tuple(did for did in last.did if did.id in made)
        seen.append([*before, replace(last, did=own), replace(last, did=tried)])
    return seen


# ── reading results ──


def _did(call: ToolCall, result: ToolResult) -> Did:
    return Did(
        id=call.id,
        name=call.name,
        arguments=arguments_text(call),
        text=result_text(result),
        became=_became(result),
        is_untrusted=isinstance(result, Done | ToolError) and result.is_untrusted,
        picture=result.picture if isinstance(result, Done) else None,
    )


def _did_for_it(made: Made) -> Did:
    """A mend, told as what it was: why, and what came of it; all of it data, since names in it come from there."""
    did = _did(made.call, made.result)
    return replace(did, text=f"{made.reason}\n{did.text}", is_untrusted=True)


def _became(result: ToolResult) -> Became:
    match result:
        case Done(value={"ok": False}):
            # The edits were made, but cells failed: the call worked, the work did not.
            return "error"
        case Done():
            return "done"
        case Refusal():
            return "refused"
        case ToolError():
            return "error"
        case _:
            assert_never(result)


def _finished(ending: Done) -> Ended:
    value = ending.value if isinstance(ending.value, dict) else {}
    return Ended(
        outcome="finished", summary=str(value.get("summary", ending.text)), answer=str(value.get("answer", ""))
    )
