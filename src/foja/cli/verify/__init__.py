"""`foja verify`: what evidence proves, told to people and programs."""
