"""The open notebook everyone shares: document, outcomes, saving, observers, one editor, packages.

The top of this room: it puts processes, branches and functions together.
"""
