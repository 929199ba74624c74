"""Environments: the packages a notebook asks for in its PEP 723 header, and the Python they run on.

Headers are read, interpreters found, environments planned, built by uv, cached and found again. Nothing out of a
wheel runs on the host.
"""
