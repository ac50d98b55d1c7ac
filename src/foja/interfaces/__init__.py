"""How callers reach the domains: each act is declared once in `operations`, and every interface reads it."""
