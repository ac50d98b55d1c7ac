"""Requests under an Idempotency-Key whose act is not one event of a given stream."""
