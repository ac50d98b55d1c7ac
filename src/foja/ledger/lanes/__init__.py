"""Who numbers a conversation: Redis, fenced by PostgreSQL; else PostgreSQL; else nobody."""
