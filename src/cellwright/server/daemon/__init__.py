"""The daemon: one process per state directory in which runs live, how it is started, found, replaced and ended.

`daemon` is the process, `client` the way to it; it opens the web server (`web_server`) when somebody asks.
"""
