"""Exchanges: which HTTP requests of a cell a connection allows, what is sent in their place, what is hidden of answers.

Owns:   rules of S3 and API connections, signing, stand-ins for secrets, masked streams, when a request is repeated.
Above:  data/web_worker, which sends and receives.   Below: data's connection options.
Never:  opens a socket, reads a clock or a file: all of it is pure.
"""
