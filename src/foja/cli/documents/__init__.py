"""`foja protect`, `status`, `explain` and `retry`: commands for documents."""
