"""The notebook editor of a run: one open notebook, changed by one call at a time, and what it was before.

`editor` owns it, `revisions` is what undo takes back, `trials` and `alternatives` try edits in branches first,
`parallel_branches` gives several agents an editor each, `reports` puts outcomes into words for a model.
"""
