"""The prompt of a step: its parts within a budget, the conversation so far, what an agent sees without asking, and its store."""
