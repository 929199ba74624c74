"""Kernel processes: the zygote they are forked from, the link to one, what it is asked to run, how it is stopped.

Also one-shot processes: a program in a cage of its own that answers one question (charts, profiles of data files).
"""
