"""The API's routes: one module per thing, each a function from `House` to a router."""
