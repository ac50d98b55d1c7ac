"""The parsers of verbs about what is recorded: documents, images, streams, the log and its anchors."""
