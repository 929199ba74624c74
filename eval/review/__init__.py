"""Review, measured: a right and a wrong notebook of each task; which wrong ones are caught, and which right ones accused.

Owns:   turning a task's solutions into notebooks, the halves, the count.
Never:  a look at the held-out half while anything is tuned.
"""
