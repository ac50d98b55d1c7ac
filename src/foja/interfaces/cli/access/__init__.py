"""`foja access`: who may use this installation over HTTP."""
