"""`foja monitor`."""
