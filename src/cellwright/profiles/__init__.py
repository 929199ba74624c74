"""Profiles: what is known about data files and tables before anybody computes with them.

Owns:   the profile as the host knows it, the search for data files in a project, relevance to a goal, joins, and a
        profile's text for models and for people.
Above:  kernel, analyst, tools, agents, runs, app, cli.   Below: data, sandbox, notebook.
Never:  parses a data file or runs code: a cage does, and its answer is decoded here as untrusted bytes.
"""
