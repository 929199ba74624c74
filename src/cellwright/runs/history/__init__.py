"""The history of a run's notebook: its changes and reviews, and ways to undo and redo them, live or in the file.

`tools.history` decides what a move makes of a notebook.
"""
