"""External proofs: build a request, check a reply, offline. Nothing is trusted because a proof carries it."""
