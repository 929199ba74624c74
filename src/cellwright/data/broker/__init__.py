"""The broker: the one process that holds credentials of connections. It judges, sends, records and hands results on.

Owns:   workers and their sessions, secrets in memory, catalogues it has read, the audit of every statement.
Above:  app, which starts it, and whoever asks over its socket.   Below: data's values, secrets, background, framing.
Never:  decides for a person: what asks them is told `costly` or is a write, and comes again when they agreed.
"""
