"""The API's routes: one module per thing, each a function from `ApiResources` to a router."""
