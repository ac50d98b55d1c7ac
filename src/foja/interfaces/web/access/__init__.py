"""Who sends a request, over HTTP: keys, tokens, logins, and the routes that manage them."""
