"""Which models are asked and in what order, one attempt at one of them, retries, fallback and circuit breakers.

How a model is asked is passed in.
"""
