"""HTTP routes of `/v1/documents`."""
