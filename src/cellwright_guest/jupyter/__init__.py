"""Jupyter notebooks, in a cage: read, converted to cells of marimo, and run as Jupyter would run them.

Each module that ends in `_main` is a program: one question on descriptor 3, one answer, and it is gone.
"""
