"""`foja webhooks`."""
