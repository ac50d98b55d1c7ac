"""The content of a message as text."""

from __future__ import annotations

import json
from collections.abc import Mapping

MAX_CHARACTERS = 600


def message_text(content: object) -> str:
    """Return the text of a message; the blocks of a list are joined."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(
        block["text"] if isinstance(block, Mapping) and isinstance(block.get("text"), str) else brief(block)
        for block in blocks
    )


def brief(value: object) -> str:
    """Return a value as JSON, shortened if it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}… ({len(text):,} characters)"
