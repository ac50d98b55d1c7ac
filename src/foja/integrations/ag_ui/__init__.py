"""AG-UI: a conversation as an AG-UI event stream."""

from foja.extras import needs

with needs("foja.integrations.ag_ui", "ag-ui"):
    from foja.integrations.ag_ui.frames import AgUiFrame, encode, frames

__all__ = ["AgUiFrame", "encode", "frames"]
