"""Verify: whether a notebook runs from scratch, twice, with the same outputs; and the signed proof that it did.

Owns:   fresh runs, comparing them, acceptance checks, leaks, proofs: signing, storing, checking them later.
Above:  the rest of runs, app, cli.   Below: kernel, sandbox, notebook, policy.
Never:  model calls, the journal, a change to the notebook.
"""
