"""`foja bundle`. Empty on purpose: the words of the command must not import what it does."""
