"""Cells as tools: functions that cells mark with `@cellwright.tool`, and a whole notebook called as one function."""
