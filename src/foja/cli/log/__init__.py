"""`foja log`: status, key, checkpoint, proofs, export, verification, restart."""
