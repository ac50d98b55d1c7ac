"""The HTTP server: the API below `/v1`, event streams, and pages for people."""
