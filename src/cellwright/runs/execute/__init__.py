"""A run at work: its workflow and workspace, slots, agreement, parallel tasks, steering, files, the analyst.

The top of the room: it imports the other parts of `runs`, and none of them imports it.
"""
