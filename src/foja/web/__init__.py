"""The HTTP door: conversations over JSON, as a stream, and as a page."""
