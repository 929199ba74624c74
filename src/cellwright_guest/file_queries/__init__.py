"""Queries of SQLite and DuckDB files: a program in a cage that sees one file, read-only, and answers one question."""
