"""Cellwright as a persona of Jupyter AI: a distribution of its own, which imports nothing of `cellwright`."""
