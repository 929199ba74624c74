"""One agent at work: its state, and the verbs of its loop. All of the state follows from recorded steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, assert_never

from cellwright.agents import styles
from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Assignment
from cellwright.agents.events import AgentSpoke, EvidenceNoted, PersonSaid, PromptStored
from cellwright.agents.fixer import Fixer, RepairOutcome
from cellwright.agents.model_call import (
    AnswerLost,
    AnswerReceived,
    CallCancelled,
    ModelCaller,
    NoModel,
    OverBudget,
    limits_after,
    read_response,
)
from cellwright.agents.prompt.composition import AssignmentContext, compose, history, is_compacted
from cellwright.agents.prompt.context_providers import ContextView, Onlooker
from cellwright.agents.prompt.conversation import AgentTurn, ToolCallRecord, times_repeated
from cellwright.agents.prompt.prompt import Prompt, PromptPart, fence
from cellwright.agents.prompt.prompt_store import KnownTexts, encode_prompt, known_after, read_pictures
from cellwright.agents.readings import READ_AS
from cellwright.agents.steering import SteeringInput, pause_question, read_steering, wait_for_stop
from cellwright.journal.events import CostRecorded
from cellwright.journal.flow import Flow
from cellwright.journal.questions import Question
from cellwright.journal.values import Json
from cellwright.tools.approval.guard import ActionRefused, BudgetRaised
from cellwright.tools.callers import GuardedCaller
from cellwright.tools.evidence.card import CARD, cards_json, parse_cards
from cellwright.tools.finish_tool import DOUBTS
from cellwright.tools.tool import Done, Refusal, ToolCall, ToolError, ToolResult, has_worked, result_text

_FIRST_LOOK_SHARE: Final = 0.25
_ONLY_LOOK_SHARE: Final = 0.3
"""For one who is asked once, and whose history needs no room."""
_LATER_LOOK_TOKENS: Final = 600
"""The results of its own calls tell an agent what changed; a short reminder is enough."""
_SAME_AT_MOST: Final = 5
_SAYS_LIMIT: Final = 8_000
"""Characters of an answer's words that are told: people saw them being written."""
_ASK_AGAIN: Final = "ask again, and perhaps pay twice"
_STOP: Final = "stop here"
_CALL_SOMETHING: Final = "Nothing was done. Call a tool, or finish when the goal is reached."
_SAME_AGAIN: Final = "You did exactly this before, with exactly this outcome. Do something else, or ask."
_UNFINISHED: Final = ToolError(
    kind="conflict", message="Not finished: a call before it in the same answer did not work. Read its result first."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepInput:
    """What a look around found, as its step keeps it."""

    orders: SteeringInput
    seen: tuple[ContextView, ...]


class Agent:
    """The state of one assignment. All of it follows from recorded steps."""

    def __init__(self, flow: Flow, assignment: Assignment, context: AgentContext, brief: AssignmentContext) -> None:
        self._flow = flow
        self._assignment = assignment
        self._context = context
        self._brief = brief
        self._caller: GuardedCaller = context.caller(
            brief.role, flow.id, is_attended=assignment.is_attended, goal=brief.goal
        )
        self._toolset = self._caller.toolset
        self._offered = styles.offered_tools(self._toolset, brief.style)
        definitions = self._offered.definitions()
        self._model_caller = ModelCaller(context=context, assignment=assignment, brief=brief, tools=definitions)
        self._turns: list[AgentTurn] = []
        self._history: list[PromptPart] = []
        self._steering = SteeringInput()
        self._heard: tuple[PersonSaid, ...] = ()
        self._news = ""
        self._known: KnownTexts = {}
        # What was used so far; follows from recorded answers.
        self._limits = assignment.limits
        self._tokens = self._microdollars = 0
        self._artifacts: dict[str, None] = {}
        self._readings: dict[str, None] = {}
        self._cards: dict[str, Json] = {}
        self._doubted: Json = None
        """What it was last told against its answer."""
        self._repaired = RepairOutcome()
        self._fixer = Fixer(flow=flow, caller=self._caller, context=context, is_attended=assignment.is_attended)

    @property
    def _step(self) -> int:
        """The step that is to come or goes on: 1, 2, 3 …"""
        return len(self._turns) + 1

    # ── whether to go on ──

    def end_by_budget(self) -> AgentReport | None:
        """Whether the role's own budget is used up, or it goes round in circles."""
        role, turns = self._brief.role, self._turns
        if len(turns) >= role.steps:
            return AgentReport(outcome="out-of-budget", why=f"All {role.steps} steps of a {role.name} are used.")
        if self._tokens >= role.tokens:
            return AgentReport(outcome="out-of-budget", why=f"All {role.tokens:,} tokens of a {role.name} are used.")
        if turns and times_repeated(turns) >= _SAME_AT_MOST:
            return AgentReport(outcome="gave-up", why=f"It did the same {_SAME_AT_MOST} times, with the same outcome.")
        return None

    def is_stopped(self) -> AgentReport | None:
        """Whether a person wants it to stop."""
        return AgentReport(outcome="stopped", why=self._steering.stop) if self._steering.stop else None

    # ── look around ──

    async def look_around(self) -> tuple[ContextView, ...]:
        """What there is to see and what people said, kept in one step."""
        self._history = history(self._turns, self._brief)
        is_first = not self._turns or is_compacted(self._history)
        role = self._brief.role
        share = _ONLY_LOOK_SHARE if role.steps == 1 else _FIRST_LOOK_SHARE
        tokens = int(role.context_tokens * share) if is_first else _LATER_LOOK_TOKENS

        async def look() -> _StepInput:
            orders = await read_steering(
                self._flow.read, self._flow.id, self._steering, knows_order=self._assignment.orders_heard
            )
            context_tokens = self._brief.role.context_tokens
            onlooker = Onlooker(goal=self._brief.goal, context_tokens=context_tokens, remembers=not is_first)
            providers = [each for each in self._context.context_providers if each.shows in self._brief.role.sees]
            seen = [await provider.view(tokens, onlooker) for provider in providers]
            return _StepInput(orders=orders, seen=tuple(self._masked(each) for each in seen))

        found = await self._flow.step(f"look {self._step}", look, returns=_StepInput)
        if found.orders.pause and not found.orders.stop:
            await self._flow.ask(pause_question(found.orders.pause))
        self._steering = found.orders
        self._heard = found.orders.heard
        self._news = "\n".join(each.news for each in found.seen if each.news)
        return found.seen

    def _masked(self, seen: ContextView) -> ContextView:
        mask = self._context.masker.mask
        parts = tuple(replace(part, text=mask(part.text).text) for part in seen.parts)
        return ContextView(parts=parts, news=mask(seen.news).text)

    # ── think ──

    def compose(self, seen: Sequence[ContextView]) -> Prompt:
        """What the model reads now."""
        before = AgentTurn(number=self._step, heard=self._heard, news=self._news)
        tools = self._model_caller.tools
        return compose(self._brief, self._toolset, tools, self._history, before, seen=seen, advice=self._advice())

    def _advice(self) -> str:
        """What to consider about failures that were not repaired, with what that needs; what is data, fenced."""
        repaired = self._repaired
        material = [fence(each.text, nonce=self._brief.nonce, source=each.name) for each in repaired.material]
        return "\n".join(dict.fromkeys(each for each in [*repaired.words, *material] if each))

    async def think(self, prompt: Prompt) -> AnswerReceived | AgentReport:
        """The model's answer, asked for until there is one or somebody says to stop."""
        again, attempt = False, 1
        kept, flow, heard = self._context.kept, self._flow, self._assignment.orders_heard
        keep = partial(kept.store, f"{flow.id}#{self._step}", encode_prompt(prompt, self._known))
        stopped = partial(wait_for_stop, flow.read, flow.id, self._steering, knows_order=heard)
        pictures = await read_pictures(kept, prompt)
        while True:
            limits = self._limits
            call = self._model_caller.call(self._flow, self._step, prompt, limits, pictures=pictures, again=again)
            name = f"think {self._step}" if attempt == 1 else f"think {self._step} again {attempt}"
            thought = await self._model_caller.send(self._flow, name, call, keep, stopped)
            attempt += 1
            match thought:
                case AnswerReceived():
                    return thought
                case OverBudget():
                    if (ended := await self._ask_for_more(thought)) is not None:
                        return ended
                case AnswerLost():
                    if (ended := await self._ask_whether_again(thought)) is not None:
                        return ended
                    again = True
                case CallCancelled(why=""):
                    return AgentReport(outcome="cancelled", why="The call to the model was cancelled.")
                case CallCancelled(why=who):
                    return AgentReport(outcome="stopped", why=who)
                case NoModel(message=message):
                    return AgentReport(outcome="gave-up", why=message)
                case _:
                    assert_never(thought)

    async def _ask_for_more(self, stopped: OverBudget) -> AgentReport | None:
        """Pause until a person raises the limit; None to go on."""
        if not self._assignment.is_attended:
            return AgentReport(outcome="out-of-budget", why=stopped.question)
        who = self._context.actor(self._brief.role, self._flow.id)
        match await self._context.guard.ask_for_more(self._flow, stopped.stop(self._limits), who):
            case BudgetRaised(ledger=ledger):
                self._limits = limits_after(self._limits, ledger, self._flow.run, stopped)
                return None
            case ActionRefused(feedback=feedback):
                return AgentReport(outcome="out-of-budget", why=feedback)

    async def _ask_whether_again(self, lost: AnswerLost) -> AgentReport | None:
        """Nobody knows whether the call was answered and paid; None to ask again."""
        ended = AgentReport(outcome="gave-up", why=f"Nobody knows what came of a call to {lost.model}.")
        if self._assignment.if_unknown == "again":
            return None
        if self._assignment.if_unknown == "stop" or not self._assignment.is_attended:
            return ended
        text = f"A call to {lost.model} was sent at {lost.sent_at}, and its answer was lost. It may have been paid."
        question = Question(topic="model-answer-lost", text=text, choices=(_ASK_AGAIN, _STOP))
        said: Any = await self._flow.ask(question)
        picked = said.get("choice") if isinstance(said, dict) else said
        return None if picked == _ASK_AGAIN else ended

    async def record(self, prompt: Prompt, answer: AnswerReceived) -> None:
        """What the step read and cost, for whoever watches."""
        self._tokens += answer.input_tokens + answer.output_tokens
        self._microdollars += answer.microdollars or 0
        self._known = known_after(prompt, self._known, answer.context)
        cost = CostRecorded(
            what=answer.model,
            microdollars=answer.microdollars or 0,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            workflow=self._flow.id,
            is_price_known=answer.microdollars is not None,
        )
        # By the same secrets as its draft: what a person has seen masked stays so.
        said = self._context.masker.mask(styles.reply_text(read_response(answer))).text
        told = [AgentSpoke(workflow=self._flow.id, text=said[:_SAYS_LIMIT])] if said else []
        step = f"{self._flow.id}#{self._step}"
        await self._flow.tell(PromptStored(call=step, prompt=answer.context, tokens=prompt.tokens), cost, *told)

    # ── act ──

    async def act(self, answer: AnswerReceived) -> AgentReport | None:
        """Do what the model wants, and remember what came of it."""
        style = self._brief.style
        self._repaired = RepairOutcome()
        reply = styles.parse_reply(read_response(answer), step=self._step, style=style, tools=self._offered)
        if reply.calls:
            return await self._do(reply)
        if not reply.note:
            return self._take_words(reply.said)
        self._add(said=reply.said, feedback=reply.note)
        return None

    async def _do(self, actions: styles.ModelReply) -> AgentReport | None:
        results = await self._call(actions.calls)
        did = tuple(_call_record(call, result) for call, result in zip(actions.calls, results, strict=True))
        for result in results:
            value = _value_of(result) if isinstance(result, Done) else {}
            if "artifact" in value:
                self._artifacts[str(value["artifact"])] = None
            if read_as := value.get(READ_AS):
                self._readings[str(read_as)] = None
        await self._tell_cards(results)
        ending = next((result for result in results if isinstance(result, Done) and result.ends), None)
        if ending is not None:
            self._add(said=actions.said, did=did, feedback=actions.note)
            return None if self._is_doubted(ending) else _finished(ending)
        # That it is not finished follows from what failed before, and is no failure of its own.
        tried = [pair for pair in zip(actions.calls, results, strict=True) if pair[1] != _UNFINISHED]
        calls, tried_results = [call for call, _ in tried], [result for _, result in tried]
        repaired = self._repaired = await self._fixer.repair(self._step, calls, tried_results)
        # As what it was: why, and what came of it; all of it data, since names in it come from there.
        records = [(each.reason, _call_record(each.call, each.result)) for each in repaired.made]
        more = tuple(replace(did, text=f"{reason}\n{did.text}", is_untrusted=True) for reason, did in records)
        self._add(said=actions.said, did=(*did, *more), feedback=f"{actions.note} {repaired.feedback}".strip())
        if repaired.gives_up:
            return AgentReport(outcome="gave-up", why=repaired.gives_up)
        return AgentReport(outcome="stopped", why=repaired.stops) if repaired.stops else None

    async def _tell_cards(self, results: Sequence[ToolResult]) -> None:
        """Evidence that was noted, for whoever watches; it follows from recorded results."""
        noted = parse_cards(
            card for result in results if isinstance(result, Done) if (card := _value_of(result).get(CARD))
        )
        new = [card for card in noted if card.id not in self._cards]
        self._cards |= dict(zip((card.id for card in new), cards_json(new), strict=True))
        if new:
            await self._flow.tell(*(EvidenceNoted(card=card) for card in new))

    async def _call(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The calls in order. Finishing counts only if what was called with it worked."""
        *before, last = calls
        if last.name != styles.FINISH or not before:
            return await self._caller.call_all(self._flow, calls)
        results = await self._caller.call_all(self._flow, before)
        if all(map(has_worked, results)):
            return [*results, await self._caller.call(self._flow, last)]
        return [*results, _UNFINISHED]

    def _is_doubted(self, ending: Done) -> bool:
        """Whether something speaks against the answer that the agent was not told before, and it could mend that."""
        found = _value_of(ending).get(DOUBTS)
        # Whoever may not run cells, such as a writer, mends none.
        if not found or found == self._doubted or "run" not in self._toolset:
            return False
        self._doubted = found
        return True

    def _take_words(self, said: str) -> AgentReport | None:
        """Words alone are the answer where nothing can be called to finish, or when they come twice."""
        before = self._turns[-1] if self._turns else None
        is_second = before is not None and before.feedback == _CALL_SOMETHING and not before.did
        if styles.FINISH not in self._offered or is_second:
            self._add(said=said)
            return AgentReport(outcome="finished", summary=said, answer=said)
        self._add(said=said, feedback=_CALL_SOMETHING)
        return None

    def _add(self, *, said: str, did: tuple[ToolCallRecord, ...] = (), feedback: str = "") -> None:
        turn = AgentTurn(number=self._step, said=said, did=did, feedback=feedback, heard=self._heard, news=self._news)
        if did and times_repeated([*self._turns, turn]) > 1:
            turn = replace(turn, feedback=f"{feedback} {_SAME_AGAIN}".strip())
        self._turns.append(turn)

    # ── report ──

    def report(self, end: AgentReport) -> AgentReport:
        """What came of it; of work that did not finish, the last the agent said."""
        last = next((turn.said for turn in reversed(self._turns) if turn.said.strip()), "")
        return replace(
            end,
            summary=end.summary or last,
            turns=len(self._turns),
            artifacts=tuple(self._artifacts),
            cards=tuple(self._cards.values()),
            readings=tuple(self._readings),
            tokens=self._tokens,
            microdollars=self._microdollars,
            failed_turns=sum(turn.has_failed for turn in self._turns),
            limits=self._limits,
        )


# ── reading results ──


def _value_of(ending: Done) -> dict[str, Json]:
    return ending.value if isinstance(ending.value, dict) else {}


def _finished(ending: Done) -> AgentReport:
    value = _value_of(ending)
    return AgentReport(
        outcome="finished",
        summary=str(value.get("summary", ending.text)),
        answer=str(value.get("answer", "")),
        template=str(value.get("template", "")),
        plan=value.get("plan"),
        review=value.get("review"),
        tests=value.get("tests"),
        handed=value.get("handed"),
    )


def _call_record(call: ToolCall, result: ToolResult) -> ToolCallRecord:
    return ToolCallRecord(
        id=call.id,
        name=call.name,
        arguments=styles.arguments_text(call),
        text=result_text(result),
        became="refused" if isinstance(result, Refusal) else "done" if has_worked(result) else "error",
        is_untrusted=isinstance(result, Done | ToolError) and result.is_untrusted,
        picture=result.picture if isinstance(result, Done) else None,
    )
