"""How many requests a principal may send: in this process, or in all that share a Redis."""
