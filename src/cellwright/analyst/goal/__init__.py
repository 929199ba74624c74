"""A goal's words: what they ask of the data, as far as plain rules can read it.

Two readings. `question_reader` reads one question that can be answered, or declines: `sentence` finds what the words
name (`data_names`, `mentions`, `time_words`, `number_words`), the other modules read it part by part. `parser` reads
what a whole analysis begins with. `question` and `request` are what was understood. Pure; no model is asked.
"""
