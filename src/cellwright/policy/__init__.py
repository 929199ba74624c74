"""Policy: what agents may do, what they may use, whom they must ask, and what must not be shown.

Owns:   actions, rules and their judgement, envelopes, questions and answers, budgets, audit entries, masking.
Above:  data, models, sandbox, kernel, tools, agents, runs, server, cli.   Below: errors, ids.
Never:  files, clocks, randomness, processes, HTTP, async: values in, values out. Callers act, the journal records.

`actions` are judged by `judgement` against `rules` (read by `rule_file`); `approvals` says which answers count;
`budgets` and `money` count; `masking/` finds secrets in text.
"""

from cellwright.former_names import policy as __getattr__  # noqa: F401  for names that were here
