"""`cellwright run`: the command, the client of whoever executes runs, watching one run, and asking its questions."""
