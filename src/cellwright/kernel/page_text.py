"""Web pages as text, read as the program in the cage reads those that are files."""

from cellwright_guest.page_text import readable

__all__ = ["readable"]
