"""A goal's words: what they ask of the data, as far as plain rules can read it.

`request` is what was understood, `parser` reads it, `vocabulary` and `date_ranges` hold the words and the calendar.
Pure; no model is asked.
"""
