"""Data: which files and folders a person means, where a notebook finds them, and what a statement of SQL would do.

Owns:   `NAME=PATH`, what counts as a data file, the place of one in the project, reading SQL before it is sent.
Above:  analyst, kernel, tools, agents, runs, app.   Below: errors.
Never:  opens a data file: that is done in a cage.
"""
