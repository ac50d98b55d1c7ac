"""HTTP server: conversations as JSON, as an event stream and as web pages."""
