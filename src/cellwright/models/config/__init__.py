"""What a person says about models: `models.toml`, what is known of each model, their names, and API keys.

The bottom of `models`: nothing here asks a provider.
"""
