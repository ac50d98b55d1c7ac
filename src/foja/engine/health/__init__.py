"""How every part of an installation does: from what last happened to it, never from what is configured."""
