"""HTTP routes of `/v1/anchors`."""
