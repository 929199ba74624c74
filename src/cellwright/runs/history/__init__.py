"""The history of a run's notebook.

Its revisions, undo and redo, single cells reverted, reviews; live or in the file.
"""
