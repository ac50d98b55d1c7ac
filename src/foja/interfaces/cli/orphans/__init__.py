"""`foja orphans`: objects in the store that nothing refers to."""
