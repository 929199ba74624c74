"""Notebooks of Jupyter: whether what they were converted to does the same, cell by cell; and written as such again.

Owns:   comparing two runs of one notebook in two kernels, what is said of each cell, the `.ipynb` that is delivered.
Above:  app.   Below: kernel, notebook.
Never:  a file of Jupyter parsed here: that happens in a cage.
"""
