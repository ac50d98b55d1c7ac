"""`foja chat`: write, read, follow and check conversations."""
