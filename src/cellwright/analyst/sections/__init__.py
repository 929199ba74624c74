"""Sections: each a pure function from a profile to the cells of a notebook.

Owns:   the cells that read, judge, repair, show, test and conclude; their words, charts and checks.
Above:  runs, tools.   Below: names, profile, goal, methods, notebook.
Never:  runs a cell, reads a file, puts a name or value of a file into code or markdown unescaped.
"""
