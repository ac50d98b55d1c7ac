"""What callers can do with what is recorded: documents, conversations, streams, images."""
