"""Object storage: bytes too large for the ledger, named by their digest."""
