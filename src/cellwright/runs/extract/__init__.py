"""Extraction: rows with evidence out of many documents. `extraction` is the run; the rest decides, and does nothing."""
