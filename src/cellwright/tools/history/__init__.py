"""The history of a run's notebook: one timeline of revisions, and every way to go back and forward on it.

`timeline` is what is remembered, `moves` decides what an undo or redo makes of the notebook, `store` reads and writes
the timeline, `live` moves an open notebook with its variables and files. `runs.history` moves one in its file.
"""
