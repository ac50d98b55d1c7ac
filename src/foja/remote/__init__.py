"""The sockets: bytes out, bytes in, timeouts and limits. Nothing here judges what came back."""
