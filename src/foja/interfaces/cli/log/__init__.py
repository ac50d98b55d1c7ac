"""`foja log` and `foja cosigner`."""
