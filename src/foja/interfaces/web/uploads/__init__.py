"""HTTP routes of `/v1/uploads`: resumable uploads by the protocol tus 1.0."""
