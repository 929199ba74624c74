"""Cellwright against its peers, measured side by side in one run.

Owns:   scenarios, the peers' own environment, ratios against the bars of ARCHITECTURE.md.
Above:  `make bench`.   Below: cellwright's public Python API.
Never:  anything a user's notebook depends on; peers' packages in our environment.
"""
