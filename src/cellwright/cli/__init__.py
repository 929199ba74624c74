"""The command line: a thin interface.

Owns:   parsing arguments, calling one function, rendering its answer.
Above:  nothing.   Below: server, app.
Never:  decisions, files of its own, text on stdout that is not data.

`main` has the commands and the exit codes; each command is the module, or the package (`run/`, `runs/`), of its name,
imported when it is called. `render/` turns values into text and tables.
"""
