"""What acts answer, as values: the same in Python, over HTTP and in the clients."""
