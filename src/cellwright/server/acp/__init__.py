"""ACP: runs as sessions of editors and other clients that show an agent to a person.

Owns:   what such a client is told of a run, questions put to its person, its sessions, marimo's panel.
Above:  server's daemon, which opens it.   Below: server's http, whose operations it calls in this process.
Never:  a rule, a scope or an error of its own; an answer no person gave; files and terminals of the client.

`marimo_panel` is the other end of a panel in a browser, in a process of its own; all else is in the daemon.
"""
