"""HTTP routes of `/v1/log`."""
