"""Review: whether a notebook that runs is right, as far as code can tell, and whoever looks at it with fresh eyes.

Owns:   findings and what shows them, questions the data raises, the second opinion on a figure, the reviewer's work.
Above:  the rest of runs, app, cli.   Below: agents, analyst, tools, kernel, notebook.
Never:  a change to the notebook; a finding that nothing shows.
"""
