"""HTTP: the daemon's interface for browsers and other programs: an API, event streams, and the page.

Owns:   addresses and ports, tokens and scopes, every check before a request means anything, routes, the page's files.
Above:  server's daemon.   Below: app, runs, journal, kernel, models' client.
Never:  what a run does (runs), the notebook's editor (server.editor, on an origin of its own), API keys (the gateway).
"""
