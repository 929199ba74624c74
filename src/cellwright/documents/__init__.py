"""Documents: what files say, as text with places, and whether a quote stands there.

Owns:   documents and their pages, the store of read texts, the index over them, the check of quotes.
Above:  kernel (which reads files in a cage), tools, runs.   Below: notebook (atomic writes), policy (masking).
Never:  opening a document's own bytes, model calls, HTTP.
"""
