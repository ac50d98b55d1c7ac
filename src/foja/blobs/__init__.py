"""The objects: bytes too large or too private for the ledger, named by their digest."""
