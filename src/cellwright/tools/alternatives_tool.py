"""The tool with which an agent tries several alternatives at once: `try_alternatives`. One is kept, or none.

The agent reads one table, why some failed, and what was kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellwright.journal.values import Json
from cellwright.notebook.prompt_summary import clip
from cellwright.policy.actions import Action
from cellwright.tools.notebook.alternatives import TrialCandidate, number_of
from cellwright.tools.notebook.cell_changes import CellEdit, Seconds, actions_of, changes_by, edits_of
from cellwright.tools.notebook.editor import AlternativesOutcome, NotebookEditor
from cellwright.tools.notebook.reports import edit_result, observation_json, revision_finder
from cellwright.tools.notebook.trial_records import (
    BRANCHES,
    Decision,
    TrialRecord,
    ask_which,
    parse_trial,
    trial_json,
    trials_in,
)
from cellwright.tools.notebook.trials import check_code
from cellwright.tools.tool import CallContext, Done, OneMore, Tool, ToolResult, Toolset, result_text, tool

_SHOWN_VARIABLES: Final = 3
_VALUE_TOKENS: Final = 20
_ERROR_TOKENS: Final = 120
_ACCEPTED: Final = "accepted"
"""Under this name the value of an accepted candidate's own step holds what came of it."""


def chosen_result(editor: NotebookEditor, chosen: AlternativesOutcome, *, is_kept: bool) -> ToolResult:
    """What was tried, and kept by what the checks say, or not."""
    tried = chosen.tried
    lines = _lines(tried, chosen.news)
    value: dict[str, Json] = {BRANCHES: [trial_json(each) for each in tried], "kept": None}
    if chosen.applied is None:
        why = tried[0].note or "none of them passes."
        lines.append(f"Nothing was kept: {why}" if is_kept else "Nothing was kept, as you wanted.")
        return Done(text="\n".join(lines), value=value | {"ok": not is_kept}, is_untrusted=True)
    made = edit_result(editor, chosen.applied)
    value |= observation_json(chosen.applied.observation) | {"kept": tried[0].purpose}
    said = made.text if isinstance(made, Done) else ""
    lines.append(f"Kept: {tried[0].purpose}. In the notebook:\n{said}")
    return Done(text="\n".join(lines), value=value, is_untrusted=True)


# ── where a person decides ──


def waiting_result(chosen: AlternativesOutcome) -> ToolResult:
    """What was tried. Whatever ran may be accepted; where nothing did, there is nothing to ask."""
    tried = tuple(replace(each.record, waits=each.is_sound) for each in chosen.ranked)
    value: dict[str, Json] = {BRANCHES: [trial_json(each) for each in tried], "kept": None}
    if any(each.waits for each in tried):
        return Done(text=chosen.news, value=value, is_untrusted=True)
    lines = [*_lines(tried, chosen.news), "Nothing was kept, and nobody was asked: none of them runs."]
    return Done(text="\n".join(lines), value=value | {"ok": False}, is_untrusted=True)


def accepted_result(editor: NotebookEditor, chosen: AlternativesOutcome) -> ToolResult:
    """What came of the one candidate that a person accepted, tried again in the notebook as it is now."""
    [tried] = chosen.tried
    value: dict[str, Json] = {_ACCEPTED: trial_json(tried)}
    if chosen.applied is None:
        lines = [*([chosen.news] if chosen.news else []), *_errors([tried])]
        return Done(text="\n".join(lines), value=value, is_untrusted=True)
    made = edit_result(editor, replace(chosen.applied, news=chosen.news or chosen.applied.news))
    assert isinstance(made, Done)
    return replace(made, value=value | observation_json(chosen.applied.observation))


def decided_result(before: Done, tried: Sequence[TrialRecord], decision: Decision, made: ToolResult | None) -> Done:
    """What a person decided, and what that did to the notebook; `made` is None where nothing was accepted."""
    came = _came(made, decision, tried)
    final = [came if came and each.branch == came.branch else _dropped(each, decision) for each in tried]
    who = f"The person ({decision.by})" if decision.by else "The person"
    lines = _lines(final, before.text)
    value: dict[str, Json] = {BRANCHES: [trial_json(each) for each in final], "kept": None}
    if made is None or came is None:
        lines.append(f"{who} dropped all of them: nothing was kept, and the notebook is as it was.")
        return Done(text="\n".join(lines), value=value, is_untrusted=True)
    said = result_text(made)
    if not came.is_kept:
        lines.append(f"{who} accepted {came.purpose}, but it does not fit the notebook as it is now, which is")
        lines[-1] += f" as it was. {'' if came.note in said else came.note}".rstrip()
        return Done(text="\n".join([*lines, said]), value=value | {"ok": False}, is_untrusted=True)
    lines.append(f"{who} accepted {came.purpose}. In the notebook:\n{said}")
    seen: Any = made.value if isinstance(made, Done) and isinstance(made.value, dict) else {}
    value |= {name: each for name, each in seen.items() if name != _ACCEPTED} | {"kept": came.purpose}
    picture = made.picture if isinstance(made, Done) else None
    return Done(text="\n".join(lines), value=value, picture=picture, is_untrusted=True)


def _came(made: ToolResult | None, decision: Decision, tried: Sequence[TrialRecord]) -> TrialRecord | None:
    """The accepted branch as it came out."""
    waiting = next((each for each in tried if each.branch == decision.accepted), None)
    if waiting is None or made is None:
        return None
    said = replace(waiting, waits=False, decision="accepted", decided_by=decision.by)
    if not isinstance(made, Done):
        return replace(said, note="It could not be made.")
    value: Any = made.value
    again = parse_trial(value.get(_ACCEPTED)) if isinstance(value, dict) else None
    if again is None:
        # It was in the notebook already when the process came back.
        return replace(said, is_kept=True)
    known = {"branch": said.branch, "group": said.group, "decision": said.decision, "decided_by": said.decided_by}
    return replace(again, **known)


def _dropped(tried: TrialRecord, decision: Decision) -> TrialRecord:
    if not tried.waits:
        return tried
    by = decision.dropped.get(tried.branch, decision.by)
    return replace(tried, waits=False, decision="dropped", decided_by=by)


# ── one table ──


def _lines(tried: Sequence[TrialRecord], news: str) -> list[str]:
    return [*([news] if news else []), alternatives_table(tried), *_errors(tried)]


def alternatives_table(tried: Sequence[TrialRecord]) -> str:
    """What was tried side by side, best first, as a table in markdown."""
    rows = [
        (
            each.purpose + (" (kept)" if each.is_kept else ""),
            each.way or "-",
            each.status,
            f"{each.checks_passed}/{len(each.checks)}" if each.checks else "-",
            _variables(each),
            f"{each.ms:.0f}",
        )
        for each in tried
    ]
    head = ("candidate", "way", "status", "checks", "variables", "ms")
    table = [[" ".join(text.replace("|", "¦").split()) for text in row] for row in (head, ("---",) * len(head), *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in table)


def _variables(tried: TrialRecord) -> str:
    named = [each for each in tried.variables if each.after]
    shown = [f"{each.name} = {clip(each.after, _VALUE_TOKENS)}" for each in named[:_SHOWN_VARIABLES]]
    return "; ".join(shown) + ("; …" if len(named) > _SHOWN_VARIABLES else "")


def _errors(tried: Sequence[TrialRecord]) -> list[str]:
    """Why each that did not pass did not, in a line or two."""
    lines: list[str] = []
    for each in tried:
        faults = [f"[{cell.name}] {cell.error or cell.status}" for cell in each.cells if cell.error]
        faults += [f"check {check.check!r}: {check.detail}" for check in each.checks if not check.has_passed]
        faults += [each.note] if each.note and each.status != "passed" else []
        if faults:
            lines.append(clip(f"{each.purpose}: {'; '.join(faults)}", _ERROR_TOKENS))
    return lines


ALTERNATIVES: Final = "try_alternatives"


class CandidateEdits(BaseModel):
    """One way to do it."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=60, description="A few words that tell it from the others.")]
    edits: Annotated[list[CellEdit], Field(min_length=1, max_length=50)]
    checks: Annotated[
        list[str], Field(max_length=20, description="Besides those for all: expressions, or names of tests.")
    ] = []


def alternatives_tool(editor: NotebookEditor) -> Tool:
    """The tool of this notebook."""

    async def action(arguments: Any) -> tuple[Action, ...]:
        await editor.sync()
        document = editor.notebook.document
        changes = [change for candidate in arguments.candidates for change in changes_by(candidate.edits, document)]
        edit, run = actions_of(changes, editor.notebook.path)
        return (run,) if arguments.keep == "none" else (edit, run)

    find = revision_finder(editor)

    async def go_on(arguments: Any, calling: CallContext, result: ToolResult, one_more: OneMore) -> ToolResult:
        if not isinstance(result, Done) or not any(each.waits for each in trials_in(result.value)):
            return result
        tried = trials_in(result.value)
        await calling.flow.tell(*(replace(each, agent=calling.flow.id) for each in tried))
        decision = await ask_which(calling.flow, tried)
        if not decision.accepted:
            return decided_result(result, tried, decision, None)
        given = _candidate(arguments.candidates[number_of(decision.accepted) - 1], arguments.checks)

        async def accept() -> ToolResult:
            chosen = await editor.choose([replace(given, is_accepted=True)], key=calling.key, seconds=arguments.seconds)
            return accepted_result(editor, chosen)

        return decided_result(
            result, tried, decision, await one_more("accepted", accept, partial(find, arguments, calling))
        )

    @tool(name=ALTERNATIVES, action=action, changes=True, find=find, go_on=go_on, seconds=None)
    async def try_alternatives(
        calling: CallContext,
        candidates: Annotated[list[CandidateEdits], Field(min_length=2, max_length=5)],
        checks: Annotated[
            list[str],
            Field(max_length=20, description="What must hold for each: expressions that are true, or names of tests."),
        ] = [],  # noqa: B006
        keep: Annotated[
            Literal["best", "none", "ask"],
            Field(description="none: only compare them. ask: the person decides, and you wait for that."),
        ] = "best",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Try several ways side by side, each in a branch. The live notebook's variables are there.

        They are ranked by checks that hold, then fewer failures, then time. The first is made in the notebook if
        nothing in it fails, or the one the person chooses; the others leave no trace. You get back one table.
        """
        given = [_candidate(each, checks) for each in candidates]
        chosen = await editor.choose(given, key=calling.key, is_kept=keep == "best", seconds=seconds)
        return waiting_result(chosen) if keep == "ask" else chosen_result(editor, chosen, is_kept=keep == "best")

    return try_alternatives


def decided_by_checks(toolset: Toolset) -> Toolset:
    """The same tools where nobody can be asked: of alternatives, the best is kept."""

    def as_best(validate: Callable[[Any], Any], arguments: Any) -> Any:
        return validate({**arguments, "keep": "best"} if arguments.get("keep") == "ask" else arguments)

    return Toolset(
        [replace(each, validate=partial(as_best, each.validate)) if each.name == ALTERNATIVES else each
         for each in toolset]
    )  # fmt: skip


def _candidate(given: CandidateEdits, checks: Sequence[str]) -> TrialCandidate:
    wanted = tuple(dict.fromkeys([*checks, *given.checks]))
    for check in wanted:
        check_code(check)
    return TrialCandidate(name=given.name, edits=partial(edits_of, given.edits), checks=wanted)
