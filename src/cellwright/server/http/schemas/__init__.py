"""What goes in and out over HTTP, as the API document describes it: one module per thing, values only."""
