"""How each provider writes requests, answers, streams and errors."""
