"""The plan of a run: tasks as a graph with checks, its edits, and the brief from which a planner makes it."""
