"""AG-UI: a conversation as the event stream its clients read."""

from foja.friends.ag_ui.frames import Frame, encode, frames

__all__ = ["Frame", "encode", "frames"]
