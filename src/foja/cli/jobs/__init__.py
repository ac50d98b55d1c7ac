"""`foja jobs`: what is queued, and what an operator can do about it."""
