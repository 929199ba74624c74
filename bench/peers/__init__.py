"""Programs that run with the peers' Python and do one measured thing per line they read.

They share nothing with the rest of the bench but `conversation`, and import their peer only inside functions: a
kernel that is spawned from here imports this module again, and must not pay for what its server needs.
"""
