"""Attached notebooks: a notebook that lives in somebody's own `marimo edit`, outside any cage of ours.

Owns:   speaking to a stock marimo server, what is known of its notebook, edits by compare-and-set, taking them back.
Above:  app.   Below: notebook, and what an observation is.
Never:  importing marimo (what runs in its kernel is text), deciding what is allowed: `permit` is asked each time.

`marimo_server` is the HTTP side, `stream_messages` decodes what a session tells, `session_mirror` adds it up,
`session_stream` waits for it, `edit_program` is the text that runs in the kernel, `edit_checks` judges before anything
is sent, `attached_notebook` has the verbs, `turns` remembers what undo takes back.
"""
