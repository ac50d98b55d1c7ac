"""HTTP routes of `/v1/maintenance`."""
