"""Agents: one loop with a role, from an assignment to a report, resumable in the middle of a thought.

Owns:   the loop, roles and skills, prompts, shortening of conversations, drafts, repair, styles, steering, artifacts.
Above:  runs, app, server, cli.   Below: tools, kernel, models, notebook, policy, journal.
Never:  what is allowed (policy), provider SDKs, kernels of its own, plans of several agents (runs), screens.

`prompt/` composes what a model reads, `repair/` decides what to do about a failure, `roles/` are files. The loop is in
`loop`, what it works with in `agent_context`: both load pydantic-ai, and a command that only shows what was done must
not wait for it.
"""

from cellwright.former_names import agents as __getattr__  # noqa: F401  for names that were here
