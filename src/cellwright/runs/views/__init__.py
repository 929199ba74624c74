"""Runs as others read them: the view of a run's events, its progress, questions, and the branches it tried."""
