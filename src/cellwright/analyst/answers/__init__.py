"""Answers: a question about data as a short notebook, its first cells the answer, the rest what it rests on.

Owns:   which tables and columns a question needs, the cells that read and repair them, and for each kind of question
        the cells that compute, draw and say the answer.
Above:  runs.   Below: goal, names, profile, sections (readers, repairs, words), methods (sources of helpers).
Never:  runs a cell, reads a file, puts a name or value of a file into code or markdown unescaped.

`frames` brings the columns together, `story` is what every answer has, `notebook` puts the cells in order; the other
modules answer one kind of question each.
"""
