"""Web: the daemon's door for browsers and other programs: an HTTP API, a stream of events, and the page.

Owns:   addresses and ports, tokens and scopes, every check before a request means anything, routes, the page's files.
Above:  server's daemon.   Below: app, runs, journal, kernel, models' client.
Never:  what a run does (runs), the notebook's editor (server.editor, on an origin of its own), API keys (the gateway).
"""
