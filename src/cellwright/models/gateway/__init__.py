"""The gateway: the one process that holds API keys, asks providers and records what was paid."""
