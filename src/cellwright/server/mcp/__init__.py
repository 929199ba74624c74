"""MCP: the operations of the HTTP API as tools, resources and prompts for other people's agents.

Owns:   what such a client sees and is told, its connections over stdio and at `/mcp`, questions put to its person.
Above:  server's daemon, which opens it.   Below: server's http, whose operations it calls in this process.
Never:  a rule, a scope, a mask or an error of its own; an answer to a question that no person gave.

`door` is loaded with the daemon; everything that needs the package `mcp` when the first client connects.
"""
