"""Answers over a notebook's variables, as the rooms above know them: fields of a text, and how its tests went."""

from cellwright_guest.answer_wire import FIELD, FilledField, NotebookTest

__all__ = ["FIELD", "FilledField", "NotebookTest"]
