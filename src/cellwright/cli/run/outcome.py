"""How watching a run ends: what is printed, and which exit code says the same."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, assert_never

import typer

from cellwright.cli.render import console, run_output
from cellwright.cli.render.remedies import hint_text, reworded
from cellwright.cli.run.watch import WatchedDelivery, WatchedQuestions, WatchOutcome
from cellwright.cli.terminal_input import show_open_questions
from cellwright.runs.deliver.delivery import Delivery, DeliveryStatus, delivery_json
from cellwright.runs.goal.goal import WRITTEN

WAITING: int = 4
INTERRUPTED: int = 130
_CODES: dict[DeliveryStatus, int] = {"done": 0, "partial": 1, "failed": 1, "refused": 3, "stopped": 1}


def finish(ended: WatchOutcome, run: str, *, as_json: bool, is_daemon: bool) -> NoReturn:
    """Print what came of it, and exit with the code that says so."""
    match ended:
        case WatchedDelivery(delivery=delivery, is_by_us=is_by_us):
            hand_over(delivery, run, as_json=as_json)
            raise typer.Exit(INTERRUPTED if is_by_us and delivery.status == "stopped" else _CODES[delivery.status])
        case WatchedQuestions(questions=questions):
            _show_waiting(questions, run, as_json=as_json, is_daemon=is_daemon)
            raise typer.Exit(WAITING)
        case "paused":
            if as_json:
                run_output.json_line({"kind": "paused", "run": run, "resume_with": f"cellwright runs resume {run}"})
            else:
                console.note("Paused; everything is kept. To go on:")
                run_output.command(f"cellwright runs resume {run}")
            raise typer.Exit(WAITING)
        case "left":
            if not as_json:
                console.note(f"The run goes on; `cellwright runs watch {run}` shows it again.")
            raise typer.Exit(INTERRUPTED)
        case _:
            assert_never(ended)


def hand_over(delivery: Delivery, run: str, *, as_json: bool) -> None:
    """The delivery on stdout: the answer first."""
    delivery = worded(delivery)
    if as_json:
        run_output.json_line({"kind": "delivery", "run": run, **delivery_json(delivery)})
    else:
        # It may load what draws reports, which takes a while.
        from cellwright.runs.deliver.report.report import report_text

        run_output.data(report_text(delivery))
        if delivery.headline:
            _tell_more(delivery, run)
        if delivery.notebook and delivery.status in {"done", "partial"}:
            console.note("To open it:")
            run_output.command(opening(delivery.notebook))


def _tell_more(delivery: Delivery, run: str) -> None:
    """What the first screen leaves out: caveats about which something can be done, and where all of it is."""
    sentences = [hint_text(each) for each in delivery.remedies]
    for caveat in delivery.caveats:
        if any(sentence in caveat for sentence in sentences if sentence):
            console.note(caveat)
    console.note("All of it, as markdown:")
    run_output.command(f"cellwright report {run}")


def worded(delivery: Delivery) -> Delivery:
    """With remedies said for a terminal, wherever its texts name one."""

    def say(text: str) -> str:
        return reworded(text, (*delivery.remedies, *WRITTEN))

    return replace(
        delivery,
        why=say(delivery.why),
        trust=say(delivery.trust),
        readings=tuple(map(say, delivery.readings)),
        assumptions=tuple(map(say, delivery.assumptions)),
        caveats=tuple(map(say, delivery.caveats)),
        tasks=tuple(replace(task, note=say(task.note)) for task in delivery.tasks),
    )


def opening(notebook: str) -> str:
    """The command that opens a notebook in marimo's editor: the one that came with us, wherever that is."""
    ours = Path(sys.executable).with_name("marimo")
    found = shutil.which("marimo")
    is_plain = found is not None and Path(found).resolve() == ours.resolve()
    return shlex.join(["marimo" if is_plain or not ours.exists() else str(ours), "edit", notebook])


def _show_waiting(questions: Sequence[dict[str, Any]], run: str, *, as_json: bool, is_daemon: bool) -> None:
    if as_json:
        run_output.json_line({"kind": "waiting", "run": run, "questions": list(questions)})
        return
    show_open_questions(questions)
    if is_daemon:
        console.note(f"The run goes on once it is answered; `cellwright runs watch {run}` shows how.")
    else:
        console.note(f"There is no daemon: the run goes on at the next `cellwright runs watch {run}`.")
