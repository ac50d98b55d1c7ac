"""`foja demo`: show every feature in a temporary folder."""
