"""AG-UI: a conversation as an AG-UI event stream."""

from foja.integrations.ag_ui.frames import AgUiFrame, encode, frames

__all__ = ["AgUiFrame", "encode", "frames"]
