"""`cellwright runs …`: goals that become notebooks, watched and steered from any terminal."""

from __future__ import annotations

from cellwright.cli.former_spellings import accept, approve, drop
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.runs import cards, show, steering
from cellwright.cli.runs.steering import plan
from cellwright.cli.runs.undo import redo, undo

app = GroupedCommands(help="Runs at work and what came of others: watch, steer, answer, undo.", no_args_is_help=True)

app.command("list")(show.list_command)
app.command()(show.show)
app.command()(show.watch)
app.command()(steering.pause)
app.command()(steering.resume)
app.command()(steering.cancel)
app.command()(plan)
app.command()(steering.goal)
app.command()(steering.say)
app.command()(steering.stop)
app.command()(steering.retry)
app.command()(steering.fork)
app.command()(cards.cards)
app.command("reject-card")(cards.reject_card)
app.command()(show.branches)
app.command()(undo)
app.command()(redo)
app.command()(show.context)
for former in (approve, accept, drop):
    app.command(hidden=True)(former)
