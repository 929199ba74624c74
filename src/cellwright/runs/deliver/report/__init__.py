"""The parts of a report: a notebook's outputs as still, harmless HTML.

Whatever a notebook shows came out of a hostile process. Nothing of it reaches the page but through `sanitizer`,
which knows what is allowed and drops the rest, or as text. `page` puts the HTML together, `text` the markdown.
"""
