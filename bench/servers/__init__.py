"""Programs that peers of ours are run by: each a process of its own."""
