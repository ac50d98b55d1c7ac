"""The job queue: enqueue, claim, lease, settle, retry, ticks."""
