"""The parts of a report: a notebook's outputs as still, harmless HTML.

Whatever a notebook shows came out of a hostile process. Nothing of it reaches the page but through `cleaning`, which
knows what is allowed and forgets the rest, or as text. `report.py` puts the page together.
"""
