"""Branches and checkpoints: forks of a live notebook in which a change is tried, or to which one goes back.

Of the open notebook they need only the protocol `NotebookSession`; they never import `session/`.
"""
