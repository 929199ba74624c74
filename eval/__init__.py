"""Evaluation: how well a goal is served, by the analyst, by any model, and by a peer with the same model.

`eval/tasks/` holds a folder per task: `task.toml` says the goal and what an answer must hold, `task.py` makes the data
and knows a right and a wrong answer. Everything is judged by code.
"""
