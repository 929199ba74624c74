"""Notebooks as pages that need no server: whether one can be, and what it takes along.

Owns:   the table of what runs in a browser, checks before anything is built, data files
        that go along, and Python itself out of a mirror.
Above:  app.   Below: notebook, policy.
Never:  the page itself, which is built in a cage; a network.
"""
