"""`foja verify`: check evidence and print a report."""
