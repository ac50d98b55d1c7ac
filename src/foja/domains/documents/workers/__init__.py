"""The job handlers and chores of documents: decide, timestamp, build, renew, expire, rebuild."""
