"""The Model Context Protocol: AI agents record what they do, protect files and check the evidence."""
