"""Blocks of an Anthropic message: built from a stream, converted to events and back.

Pure, without the library: an event of the stream is a dict here. What the event kind has no
field for (a signature, citations, the type of a server tool) is stored in `anthropic`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Block: TypeAlias = dict[str, Any]
KindAndPayload: TypeAlias = tuple[str, dict[str, Any]]

TEXT_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
CHUNKS = {"text_delta": "message_chunk", "thinking_delta": "thinking_chunk"}


class BlockBuilder:
    """Builds a block from its deltas."""

    def __init__(self, block: Mapping[str, Any]) -> None:
        self._block = dict(block)
        self._json = ""
        self.chunks = 0

    def add(self, delta: Mapping[str, Any]) -> None:
        """Add one delta."""
        kind = delta["type"]
        self.chunks += kind in CHUNKS
        if kind in TEXT_DELTAS:
            name = TEXT_DELTAS[kind]
            self._block[name] = (self._block.get(name) or "") + delta[name]
        elif kind == "input_json_delta":
            self._json += delta["partial_json"]
        elif kind == "citations_delta":
            self._block["citations"] = [*(self._block.get("citations") or []), delta["citation"]]

    def build(self) -> Block:
        """Return the block. Raise `ValueError` if its input is not a JSON object."""
        if not self._json:
            return self._block
        given = json.loads(self._json)
        if not isinstance(given, dict):
            raise ValueError(f"the input of {self._block.get('name')} is not a JSON object")
        return {**self._block, "input": given}


def event_of(block: Mapping[str, Any], tool_names: Mapping[str, str]) -> KindAndPayload:
    """Return the kind and payload of the event that stores a block."""
    kind = str(block["type"])
    if kind == "text":
        return "agent_message_sent", {"content": block["text"], **_rest(block, "text")}
    if kind == "thinking":
        return "thinking", {"content": block["thinking"], **_rest(block, "thinking")}
    if kind in {"tool_use", "server_tool_use"}:
        named = {"tool_use_id": block["id"], "tool_name": block["name"], "tool_args": block["input"]}
        return "tool_use_requested", {**named, **_rest(block, "id", "name", "input", plain="tool_use")}
    if kind.endswith("_tool_result"):
        return _result(block, tool_names)
    return ("thinking" if "thinking" in kind else "agent_message_sent"), {
        "content": [],
        "anthropic": dict(block),
    }


def block_of(kind: str, payload: Mapping[str, Any]) -> Block | None:
    """Return the model's block that an event stores; None if a request must not contain it."""
    rest = dict(payload.get("anthropic", {}))
    if kind == "tool_use_requested":
        call = {"id": payload["tool_use_id"], "name": payload["tool_name"], "input": payload["tool_args"]}
        return {"type": "tool_use", **call, **rest}
    if kind == "tool_use_completed" and "type" in rest:
        return {"tool_use_id": payload["tool_use_id"], "content": payload["tool_result"], **rest}
    if kind == "agent_message_sent" and isinstance(payload["content"], str):
        return {"type": "text", "text": payload["content"], **rest} if payload["content"] else None
    if kind == "thinking" and isinstance(payload["content"], str):  # the API refuses it without its signature
        return {"type": "thinking", "thinking": payload["content"], **rest} if "signature" in rest else None
    return rest if "type" in rest else None


def _result(block: Mapping[str, Any], tool_names: Mapping[str, str]) -> KindAndPayload:
    content, tool_use_id = block["content"], str(block["tool_use_id"])
    failed = isinstance(content, dict) and "error_code" in content
    return "tool_use_completed", {
        "tool_use_id": tool_use_id,
        "tool_name": tool_names.get(tool_use_id, "unknown"),
        "tool_result": content,
        "success": not failed,
        "error_message": str(content["error_code"]) if failed else None,
        "anthropic": {n: v for n, v in block.items() if n not in {"tool_use_id", "content"}},
    }


def _rest(block: Mapping[str, Any], *left_out: str, plain: str | None = None) -> dict[str, Any]:
    """Return the fields without a place in the payload; the type only if it is not `plain`."""
    excluded = {*left_out, *(["type"] if plain in {None, block["type"]} else [])}
    rest = {name: value for name, value in block.items() if name not in excluded and value is not None}
    return {"anthropic": rest} if rest else {}
