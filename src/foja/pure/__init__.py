"""No clock, disk, socket, database or randomness: what the judge may import."""
