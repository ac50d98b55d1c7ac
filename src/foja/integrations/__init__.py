"""Friends of the ecosystem: each room speaks for one library, and is the only one to import it."""
