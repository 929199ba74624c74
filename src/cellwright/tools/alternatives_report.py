"""What came of alternatives, as the agent that tried them reads it: one table, why some failed, and what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from cellwright.journal import Json
from cellwright.notebook import clip
from cellwright.tools.branch_choice import Decision
from cellwright.tools.branch_trials import BRANCHES, BranchTried, parse_tried, tried_json
from cellwright.tools.desk_answers import told
from cellwright.tools.desk_outcomes import Chosen
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.notebook_report import observation_json
from cellwright.tools.tool import Done, ToolResult, result_text

_SHOWN_VARIABLES: Final = 3
_VALUE_TOKENS: Final = 20
_ERROR_TOKENS: Final = 120
_ACCEPTED: Final = "accepted"
"""Under this name the value of an accepted candidate's own step holds what came of it."""


def chosen_told(desk: NotebookDesk, chosen: Chosen, *, is_kept: bool) -> ToolResult:
    """What was tried, and kept by what the checks say, or not."""
    tried = chosen.tried
    lines = _lines(tried, chosen.news)
    value: dict[str, Json] = {BRANCHES: [tried_json(each) for each in tried], "kept": None}
    if chosen.applied is None:
        why = tried[0].note or "none of them passes."
        lines.append(f"Nothing was kept: {why}" if is_kept else "Nothing was kept, as you wanted.")
        return Done(text="\n".join(lines), value=value | {"ok": not is_kept}, is_untrusted=True)
    made = told(desk, chosen.applied)
    value |= observation_json(chosen.applied.observation) | {"kept": tried[0].purpose}
    said = made.text if isinstance(made, Done) else ""
    lines.append(f"Kept: {tried[0].purpose}. In the notebook:\n{said}")
    return Done(text="\n".join(lines), value=value, is_untrusted=True)


# ── where a person decides ──


def waiting_told(chosen: Chosen) -> ToolResult:
    """What was tried. Whatever ran may be accepted; where nothing did, there is nothing to ask."""
    tried = tuple(replace(each.told, waits=each.tried.is_sound) for each in chosen.ranked)
    value: dict[str, Json] = {BRANCHES: [tried_json(each) for each in tried], "kept": None}
    if any(each.waits for each in tried):
        return Done(text=chosen.news, value=value, is_untrusted=True)
    lines = [*_lines(tried, chosen.news), "Nothing was kept, and nobody was asked: none of them runs."]
    return Done(text="\n".join(lines), value=value | {"ok": False}, is_untrusted=True)


def accepted_told(desk: NotebookDesk, chosen: Chosen) -> ToolResult:
    """What came of the one candidate that a person accepted, tried again in the notebook as it is now."""
    [tried] = chosen.tried
    value: dict[str, Json] = {_ACCEPTED: tried_json(tried)}
    if chosen.applied is None:
        lines = [*([chosen.news] if chosen.news else []), *_errors([tried])]
        return Done(text="\n".join(lines), value=value, is_untrusted=True)
    made = told(desk, replace(chosen.applied, news=chosen.news or chosen.applied.news))
    assert isinstance(made, Done)
    return replace(made, value=value | observation_json(chosen.applied.observation))


def decided_told(before: Done, tried: Sequence[BranchTried], decision: Decision, made: ToolResult | None) -> Done:
    """What a person decided, and what that did to the notebook; `made` is None where nothing was accepted."""
    came = _came(made, decision, tried)
    final = [came if came and each.branch == came.branch else _dropped(each, decision) for each in tried]
    who = f"The person ({decision.by})" if decision.by else "The person"
    lines = _lines(final, before.text)
    value: dict[str, Json] = {BRANCHES: [tried_json(each) for each in final], "kept": None}
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


def _came(made: ToolResult | None, decision: Decision, tried: Sequence[BranchTried]) -> BranchTried | None:
    """The accepted branch as it came out."""
    waiting = next((each for each in tried if each.branch == decision.accepted), None)
    if waiting is None or made is None:
        return None
    said = replace(waiting, waits=False, decision="accepted", decided_by=decision.by)
    if not isinstance(made, Done):
        return replace(said, note="It could not be made.")
    value: Any = made.value
    again = parse_tried(value.get(_ACCEPTED)) if isinstance(value, dict) else None
    if again is None:
        # It was in the notebook already when the process came back.
        return replace(said, is_kept=True)
    known = {"branch": said.branch, "group": said.group, "decision": said.decision, "decided_by": said.decided_by}
    return replace(again, **known)


def _dropped(tried: BranchTried, decision: Decision) -> BranchTried:
    if not tried.waits:
        return tried
    by = decision.dropped.get(tried.branch, decision.by)
    return replace(tried, waits=False, decision="dropped", decided_by=by)


# ── one table ──


def _lines(tried: Sequence[BranchTried], news: str) -> list[str]:
    return [*([news] if news else []), alternatives_table(tried), *_errors(tried)]


def alternatives_table(tried: Sequence[BranchTried]) -> str:
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
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (head, ("---",) * len(head), *rows))


def _variables(tried: BranchTried) -> str:
    named = [each for each in tried.variables if each.after]
    shown = [f"{each.name} = {clip(each.after, _VALUE_TOKENS)}" for each in named[:_SHOWN_VARIABLES]]
    return "; ".join(shown) + ("; …" if len(named) > _SHOWN_VARIABLES else "")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "¦").split())


def _errors(tried: Sequence[BranchTried]) -> list[str]:
    """Why each that did not pass did not, in a line or two."""
    lines: list[str] = []
    for each in tried:
        faults = [f"[{cell.name}] {cell.error or cell.status}" for cell in each.cells if cell.error]
        faults += [f"check {check.check!r}: {check.detail}" for check in each.checks if not check.has_passed]
        faults += [each.note] if each.note and each.status != "passed" else []
        if faults:
            lines.append(clip(f"{each.purpose}: {'; '.join(faults)}", _ERROR_TOKENS))
    return lines
