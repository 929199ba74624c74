"""Makes the clients from `web/openapi.json`: `python -m clients.generator`, which `make types` runs.

What is generated is values only: the shapes of bodies, and for each operation a call. How a call is sent is written
by hand, in `clients/python` and `clients/typescript`.
"""
