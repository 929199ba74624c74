"""Which models are asked and in what order, one attempt at one of them, retries, fallback and circuit breakers.

Nothing here knows an SDK: how a model is asked is passed in.
"""
