"""Network clients with timeouts and size limits. They return bytes and do not check their content."""
