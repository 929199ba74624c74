"""Attached notebooks: a notebook that lives in somebody's own `marimo edit`, outside any cage of ours.

Owns:   speaking to a stock marimo server, what is known of its notebook, edits there by compare-and-set, taking them back.
Above:  app.   Below: notebook, and what an observation is.
Never:  importing marimo (what runs in its kernel is text), deciding what is allowed: `permit` is asked before each execution.

`marimo_server` is the HTTP side, `stream_messages` decodes what its session tells, `session_mirror` adds it up, `edit_program`
is the text that runs in the kernel, `attached_notebook` has the verbs, `turns` remembers what undo takes back.
"""
