"""HTTP routes of `/v1/jobs`."""
