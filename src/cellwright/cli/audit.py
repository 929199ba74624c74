"""`cellwright audit`: who did what, when, under which rule, with which result."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from cellwright.cli.journal_options import JournalOptions
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.render import console
from cellwright.errors import UserError
from cellwright.journal.records import Records
from cellwright.policy.actions import KINDS
from cellwright.policy.audit import AuditFilter, parse_since
from cellwright.tools.approval.guard import AuditTrailLine, audit_trail

app = GroupedCommands()


@app.command()
def audit(
    journal: JournalOptions,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only this run.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="2h|DATE", help="Only what is newer.")] = None,
    person: Annotated[str | None, typer.Option("--person", metavar="NAME", help="Only on this one's behalf.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="ACTION", help="Only such actions.")] = None,
) -> None:
    """Show every action that was judged: who, what, when, under which rule, with which result."""
    if kind is not None and kind not in KINDS:
        raise UserError(f"No action is called {kind!r}.", hint=f"Known: {', '.join(KINDS)}.")
    start = parse_since(since, datetime.now(UTC)) if since is not None else None
    wanted = AuditFilter(run=run, since=start, person=person, kind=kind)
    found = journal.read(lambda records: _audit(records, wanted))
    if journal.as_json:
        console.as_json({"entries": [line.json() for line in found]})
    for line in found if not journal.as_json else ():
        console.line(line.entry.line())


async def _audit(records: Records, wanted: AuditFilter) -> list[AuditTrailLine]:
    events = await records.log.audit(int(wanted.since.timestamp() * 1000) if wanted.since else 0)
    return [line for line in audit_trail(events) if wanted.matches(line.entry)]
