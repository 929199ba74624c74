"""The prompt of a step.

Its parts within a budget, the conversation so far, what an agent sees without asking, and where prompts are stored.
"""
