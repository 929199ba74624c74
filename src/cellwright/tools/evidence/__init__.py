"""Evidence: what was found in documents, as cards with a verbatim quote; and what speaks for or against a sentence.

`card` and `figures` are pure; `library` is what documents are read through; `reader_tools` are what readers call.
"""
