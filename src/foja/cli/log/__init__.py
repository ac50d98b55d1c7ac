"""`foja log`: status, key, checkpoint, prove, verify, export and restart."""
