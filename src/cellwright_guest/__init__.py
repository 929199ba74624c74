"""The guest: what runs inside the cage, beside the person's code.

Owns:   driving marimo's kernel, bounded outputs and previews, the wire to the host.
Above:  kernel (through `cellwright_guest.wire` only).   Below: nothing of ours.
Never:  secrets, threads of its own, ZMQ, pickle on the wire, imports from `cellwright`.
"""
