"""State transfer: variables and project files taken over from a kernel that could not be forked.

The only place where anything is pickled, in one cage, for another; the host never opens it.
"""
