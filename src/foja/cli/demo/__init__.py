"""`foja demo`. Empty on purpose: the parser must not import what the command does."""
