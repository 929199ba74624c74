"""Runs: a goal becoming a notebook: brief, agree, build, check, deliver; durable from the first word to the proof.

Owns:   goals, plans and their edits, the envelope of a plan, the order of work, checks and proofs, deliveries, undo.
Above:  app, server, cli.   Below: agents, tools, kernel, sandbox, analyst, notebook, policy, journal.
Never:  how an agent thinks (agents), what is allowed (policy), processes and sockets (server), screens (cli).

`execute/` is a run at work (start at `execute.workflow`; it loads agents and models), `goal/`, `plan/` and `deliver/`
its stages, `history/` undo and redo, `views/` what its events add up to, `verify/` the check from scratch and proofs.
"""
