"""The pages of documents: the list with its upload, one document live, and its downloads."""
