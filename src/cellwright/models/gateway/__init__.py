"""The gateway: the one process that holds API keys, speaks to providers and keeps the record of what was paid."""
