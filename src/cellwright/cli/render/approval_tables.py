"""How questions, grants, audit lines and rules look. What an agent wrote is printed as it is: no markup, no emoji."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from cellwright.cli.render.console import line, people, results
from cellwright.policy.approvals import No, Yes
from cellwright.policy.display_text import shown, shown_block
from cellwright.tools.approval.budget_questions import LeaveUncounted, PutPrice, Raise
from cellwright.tools.approval.inbox import InboxReply


def questions(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per question: its first line says what will happen."""
    if not found:
        people.print("Nothing waits for an answer.", style="dim")
    for question in found:
        row = Text(question["id"], style="bold")
        # A plain question is as its agent wrote it, with its choices behind it.
        what = next(iter(question["what"].splitlines()), "")
        choices = f" ({' / '.join(question['offers'])})" if question["offers"] and not question["fingerprint"] else ""
        row.append(f"  {shown(what + choices)}", style="not bold")
        results.print(row, soft_wrap=True)


def question_for_answer(found: Mapping[str, Any], reply: InboxReply) -> None:
    """The same, for the person about to answer it."""
    question(found, people)
    people.print(Text(f"Your answer: {_words(reply)}", style="bold"), soft_wrap=True)


def grants(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per standing grant."""
    if not found:
        people.print("Nothing is allowed beyond the rules.", style="dim")
    for grant in found:
        row = Text(grant["id"], style="bold")
        until = f"until {grant['expires_at']}" if grant["expires_at"] else f"in run {grant['run']}"
        row.append(f"  {grant['covers']}, {until}, said {grant['by']} at {grant['door']}", style="not bold")
        results.print(row, soft_wrap=True)


def rule_checks(found: Sequence[Mapping[str, Any]]) -> None:
    """Which files are sound, and the first mistake of each that is not."""
    for check in found:
        if check["ok"]:
            line(f"✓ {check['file']}: {check['rules']} rules, {check['limits']} limits")
            continue
        people.print(Text(f"✗ {check['error']}", style="red"), soft_wrap=True)
        people.print(Text(f"hint: {check['hint']}", style="cyan"), soft_wrap=True)


def rules(found: Mapping[str, Any]) -> None:
    """Each layer's file, then every rule and limit that holds."""
    for layer in found["layers"]:
        line(f"{layer['layer']}: {layer['file']}{'' if layer['is_there'] else ' (none)'}")
    for rule in found["rules"]:
        reason = f": {rule['reason']}" if rule["reason"] else ""
        line(f"{rule['says']:<5} {', '.join(rule['actions'])}  {rule['where']}{reason}")
    for limit in found["limits"]:
        line(f"limit {limit['limit']}  {limit['where']}")


def question(found: Mapping[str, Any], console: Console = results) -> None:
    """Everything there is to know about a question."""
    console.print(Text(f"Question {found['id']} of run {found['run']}, {found['state']}", style="bold"), soft_wrap=True)
    console.print(Text(shown_block(found["what"])), soft_wrap=True)
    console.print(Text(f"Possible answers: {shown(', '.join(found['offers'])) or 'any words'}"), soft_wrap=True)
    if found["fingerprint"]:
        console.print(Text(f"Fingerprint: {found['fingerprint']}"), soft_wrap=True)
    if found["answer"] is not None:
        said = found["answer"]
        console.print(Text(f"{said['by']} answered {shown(said['says'])} at {said['at']}"), soft_wrap=True)


def _words(reply: InboxReply) -> str:
    match reply:
        case Yes(reach="always", lasts=lasts):
            return f"yes, always, for {lasts.days} days" if lasts.days else f"yes, always, for {lasts}"
        case Yes(reach="run"):
            return "yes, for this run"
        case Yes():
            return "yes, once"
        case Raise(more=more):
            return f"yes, {more} more"
        case PutPrice(amount=amount):
            return f"yes, and it counts as {amount}"
        case LeaveUncounted():
            return "yes, without counting it in this run"
        case No(feedback=feedback):
            return f"no. {feedback}".rstrip()
        case str():
            return shown(reply)
