"""AG-UI: a conversation as the event stream its clients read."""

from foja.integrations.ag_ui.frames import AgUiFrame, encode, frames

__all__ = ["AgUiFrame", "encode", "frames"]
