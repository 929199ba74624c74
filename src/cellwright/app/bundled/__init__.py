"""What comes with Cellwright for a first try: two small invented data sets, and a tutorial notebook.

The data is that of the repository's `examples/data`, byte for byte, where its generators, its planted problems and its
licence (CC0) are described.
"""
