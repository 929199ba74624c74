"""Readers: data files of every format become tables, in bounded time and memory.

A library is loaded only when a file needs it.
"""
