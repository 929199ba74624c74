"""The guest: what runs inside the cage, beside the person's code.

Owns:   driving marimo's kernel, bounded outputs and previews, profiles of data files, charts, the wire to the host.
Above:  kernel and analyst.profile (the wire's and the profile's types only).   Below: nothing of ours.
Never:  secrets, threads of its own, ZMQ, pickle on the wire, imports from `cellwright`.

`driver` is the loop, `wire` the messages, `patches/` what we change in marimo, `previews/` values as bounded records,
`forks/` and `transfer/` state for branches, `profiling/` the program that reads data files.
"""
