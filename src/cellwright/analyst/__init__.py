"""The analyst: what a careful person does with data on the first day, as cells of a notebook. No model is asked.

Owns:   the profile as the host knows it, reading a goal's words, statistical methods, and the cells it writes.
Above:  tools, runs, app, cli.   Below: notebook.
Never:  reads a data file, runs code, calls a model: it decides, others act.
"""
