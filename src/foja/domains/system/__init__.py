"""The installation's own stream: what happened to its keys and to its log as a whole."""
