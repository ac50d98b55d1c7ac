"""The sequence lanes. Redis numbers a conversation, fenced by PostgreSQL; else PostgreSQL does."""
