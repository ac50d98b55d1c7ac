"""What can be done with documents from a terminal."""
