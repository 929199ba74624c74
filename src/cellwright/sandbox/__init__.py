"""Sandbox: the cage around every process that runs a notebook's code.

Owns:   namespaces, mounts, Landlock, seccomp, limits, egress, what a project shows and what is kept of its changes.
Above:  kernel, tools, app.   Below: policy (host names), network, framing, errors.
Never:  notebooks, marimo, the wire to the kernel, model calls.

`linux/` is what the operating system offers, `cage/` builds and supervises a cage, `host/` speaks with it and keeps
files, `egress/` is its one way to the network; `spec` is what a cage is asked to be. `cage/` and `linux/` run in the
zygote and use the standard library only.
"""

from cellwright.former_names import sandbox as __getattr__  # noqa: F401  for names that were here
