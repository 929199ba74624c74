"""Research: a question read out of documents, by cards with verbatim quotes, and written so that each sentence cites.

`steps` are what its agents hand in, `citations` the check of what they wrote, `notebook` and `report` what is handed
over, `form` how it is written. The run itself is `execute.research_run`.
"""
