"""What acts take and answer, as values: the same in Python, over HTTP and in the clients."""
