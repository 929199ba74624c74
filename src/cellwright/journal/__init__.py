"""Journal: long work that survives anything, and one record of everything.

Owns:   the event log, durable runs and steps, effects, questions, queues, leases, recovery, projections, retention.
Above:  tools, agents, runs, server, cli.   Below: errors, ids.
Never:  what is allowed (policy), what things cost (models), model calls, kernels, HTTP.

`journal` opens one, `engine` runs workflows (by DBOS), `flow` is what a workflow sees; `events` are stored by name and
`log` keeps them in chained streams; `records` is what any process can read; `maintenance` backs up and prunes.
"""

from cellwright.former_names import journal as __getattr__  # noqa: F401  for names that were here
