"""The analyst: what a careful person does with data on the first day, as cells of a notebook. No model is asked.

Owns:   which data files are meant, the profile as the host knows it, reading a goal's words, statistical methods, and
        the cells it writes.
Above:  kernel, tools, agents, runs, app, cli.   Below: data, sandbox, notebook.
Never:  parses a data file, runs code, calls a model: it decides, others act.

`goal/` reads the goal's words, `methods/` holds functions whose source goes into notebooks, `sections/` writes cells.
`profile` decodes what a cage answered; `profile_text` and `profile_view` show it to models and to people.
"""
