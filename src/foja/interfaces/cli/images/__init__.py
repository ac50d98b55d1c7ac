"""`foja images`: galleries of products."""
