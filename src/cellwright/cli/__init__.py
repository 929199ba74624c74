"""The command line: a thin door with manners.

Owns:   parsing words, calling one function, rendering its answer.
Above:  nothing.   Below: app.
Never:  decisions, files of its own, text on stdout that is not data.
"""
