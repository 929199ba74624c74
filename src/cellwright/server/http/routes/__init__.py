"""The API's routes: one module per thing, each with a `router`; a route's docstring is its summary."""
