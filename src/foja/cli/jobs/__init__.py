"""`foja jobs`: list jobs, retry and cancel them, pause and resume job types."""
