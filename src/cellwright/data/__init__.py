"""Data: which files and folders a person means, and where a notebook finds them.

Owns:   `NAME=PATH`, what counts as a data file, the place of one in the project.
Above:  analyst, kernel, tools, agents, runs, app.   Below: errors.
Never:  opens a data file: that is done in a cage.
"""
