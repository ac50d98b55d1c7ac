"""The ledger, its jobs and its proofs; each package touches one thing, and none knows a domain."""
