"""Who may call the API: tokens and scopes, the dependencies routes declare, and the middleware before every route."""
