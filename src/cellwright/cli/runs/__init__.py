"""`cellwright runs …`: look at runs, send them commands, undo what they did. `command` has the list."""
