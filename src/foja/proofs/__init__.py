"""The proofs of others: build a request, check a reply, offline. Nothing is trusted because it came along."""
