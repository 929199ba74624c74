"""Forks: what a kernel surveys before it is forked, how the child becomes a kernel of its own, pauses between cells."""
