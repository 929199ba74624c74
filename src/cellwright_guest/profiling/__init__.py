"""Profiling: what a data file is, read where hostile bytes can do no harm, told as plain JSON.

Owns:   recognising formats, reading a bounded sample, column meanings, oddities, keys and joins.
Above:  the program in the cage (`profiling.main`); the host reads `records` only.   Below: nothing of ours.
Never:  the whole of a large file in memory, code from a file, a guess that is not marked as one.
"""
