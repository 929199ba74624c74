"""What people and programs see: `console` writes data to stdout and the rest to stderr; tables and pages per topic."""
