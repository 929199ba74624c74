"""The goal of a run: its words and data, read from what a person typed, and the notebook it begins with."""
