"""The web worker: a process that completes HTTP requests of cells with one connection's secret, many at once.

Owns:   reading requests off sockets it is handed, sending what the rules allow, masking and bounding what comes back.
Above:  the broker, which starts it and is told of each exchange.   Below: data/exchanges, http_heads.
Never:  follows a redirect, keeps a body in memory or on disk, tells a secret to anybody but its server.
"""
