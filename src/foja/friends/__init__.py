"""Friends of the ecosystem: each module speaks for one library, and is the only one to import it."""
