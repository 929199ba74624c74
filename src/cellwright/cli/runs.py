"""`cellwright runs …`: goals that become notebooks, watched and steered from any terminal."""

from __future__ import annotations

import typer

from cellwright.cli import runs_looking, runs_steering
from cellwright.cli.runs_approving import approve
from cellwright.cli.runs_branches import branches
from cellwright.cli.runs_context import context
from cellwright.cli.runs_deciding import accept, drop
from cellwright.cli.runs_plan import plan
from cellwright.cli.runs_redoing import redo
from cellwright.cli.runs_undoing import undo

app = typer.Typer(help="Runs at work and what came of others: watch, steer, answer, undo.", no_args_is_help=True)

app.command("list")(runs_looking.list_command)
app.command()(runs_looking.show)
app.command()(runs_looking.watch)
app.command()(runs_steering.pause)
app.command()(runs_steering.resume)
app.command()(runs_steering.cancel)
app.command()(plan)
app.command()(runs_steering.goal)
app.command()(runs_steering.say)
app.command()(runs_steering.stop)
app.command()(approve)
app.command()(runs_steering.retry)
app.command()(runs_steering.fork)
app.command()(branches)
app.command()(accept)
app.command()(drop)
app.command()(undo)
app.command()(redo)
app.command()(context)
