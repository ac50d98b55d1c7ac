"""The objects: bytes too large for the ledger, named by their digest."""
