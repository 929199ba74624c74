"""Repair of failures: what kind a failure is, and what can be done about it, with a model or without.

The fixer does it.
"""
