"""What `/metrics` reads from the database: it survives restarts, and is the same in every process."""
