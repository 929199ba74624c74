"""Notebooks as values: cells, their reactive graph, edits, and marimo's file format.

Owns:   reading and saving `.py` notebooks losslessly, edits and what they would do, summaries for prompts.
Above:  kernel, tools, runs, server.   Below: errors, ids.
Never:  running code, processes, model calls, HTTP. Only `marimo_*.py` know marimo.

`document` has the values, `edits` changes them, `dataflow` is the graph, `consequences` what edits would do; `files`
and `render` read and write `.py` files, `prompt_summary` is a notebook as text for a model.
"""

from cellwright.former_names import notebook as __getattr__  # noqa: F401  for names that were here
