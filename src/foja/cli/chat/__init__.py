"""`foja chat`: conversations for people, written, read, watched and checked."""
