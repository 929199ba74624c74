"""Kernels: processes that run one notebook, and the open notebook everyone shares.

Owns:   the zygote, starting and ending kernels, the open notebook, branches, environments, observations.
Above:  tools, runs, app.   Below: sandbox, analyst (profiles), notebook, and the guest's wire.
Never:  model calls, approvals, credentials, HTTP, unpickling anything.

`session/` is the open notebook, `process/` kernels and one-shot processes, `branches/` forks and checkpoints,
`environments/` packages and interpreters, `functions/` cells as tools; `pool` opens notebooks, `observation` is what
a kernel reports.
"""

from cellwright.former_names import kernel as __getattr__  # noqa: F401  for names that were here
