"""The analyst: answers questions about data without a model, as cells of a notebook.

Owns:   reading a goal's words, statistical methods, and the cells it writes.
Above:  tools, agents, runs, app, cli.   Below: kernel, profiles, notebook.
Never:  parses a data file, runs code, calls a model: it decides, others act.

`goal/` reads the goal's words, `methods/` holds functions whose source goes into notebooks, `sections/` writes cells.
"""
