"""Methods: the statistics that notebooks of the analyst carry with them, as source text.

Owns:   functions of pandas, numpy and scipy that test, compare and conclude; `source` turns them into cells.
Rules:  one function is one cell, so it is short, public, annotated with `pd` and builtins only, and never raises on odd
        data: a test that cannot be made gives None. Everything is deterministic.
"""
