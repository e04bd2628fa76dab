"""Logging in at an OpenID provider: `[access] mode = "oidc"`."""
