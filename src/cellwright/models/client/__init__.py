"""The gateway as every other process sees it: finding or starting it, the protocol, the client.

Docstring only, because `gateway_process` is loaded before pydantic-ai, which takes a second.
"""
