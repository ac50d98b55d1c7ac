"""`foja mcp`."""
