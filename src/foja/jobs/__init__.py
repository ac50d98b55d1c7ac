"""The queue: what follows from events is done once, by whoever comes, and never forgotten."""
