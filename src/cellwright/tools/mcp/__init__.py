"""Tool servers: programs and services of others whose tools agents call, over MCP.

Owns:   which servers a person named, what of their tools a person has seen and allowed, their cages and connections,
        the tools made of them. The only place below `server` that imports `mcp`, and only once a server is used.
Above:  app, server, cli.   Below: kernel, sandbox, policy, secrets.
Never:  what a model is told of a server that no person has seen; a server's word about how dangerous it is.

`servers` is the person's file, `pins` what they allowed, `connection` speaks with one server, `tool_servers` keeps
those of one workspace open, `server_tools` makes them tools.
"""
