"""Tools: what agents may do, guarded by policy and recorded in the journal.

Owns:   tools and how they are called; the guard before every action, questions to people and their answers, standing
        grants, the audit trail, rule files; the notebook editor; git; action programs.
Above:  agents, runs, server, cli.   Below: kernel, sandbox, analyst, notebook, policy, journal.
Never:  prompts and model calls, screens, settings; what is allowed is policy's to say, what is kept the journal's.

`tool` is the protocol and `callers` the wrappers around it; `approval/` asks people, `notebook/` changes a run's
notebook, `git/` and `actions/` work in cages of their own; `*_tools` are what agents call, which loads
kernels and marimo.
"""

from cellwright.former_names import tools as __getattr__  # noqa: F401  for names that were here
