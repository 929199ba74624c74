"""Review, measured: a right and a wrong notebook of each task, which are caught and which accused.

Owns:   turning a task's solutions into notebooks, the halves, the count.
Never:  a look at the held-out half while anything is tuned.
"""
