"""HTTP routes of `/v1/conversations`."""
