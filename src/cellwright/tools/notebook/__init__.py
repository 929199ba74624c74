"""The notebook editor of a run: one open notebook, changed by one call at a time.

`editor` has the calls, `saved_notebook` keeps notebook, file and history in step, `trials` and `alternatives` try
edits in branches first, `parallel_branches` gives several agents an editor each, `reports` words outcomes for a model.
"""
