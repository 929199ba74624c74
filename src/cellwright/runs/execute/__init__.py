"""A run at work: the workflow, the workspace of its notebook, slots, agreement, parallel tasks, steering, files, the analyst.

The top of the room: it imports the other parts of `runs`, and none of them imports it.
"""
