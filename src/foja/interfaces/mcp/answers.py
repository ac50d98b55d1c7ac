"""What a tool answers, as JSON: the fields of a value, or those that an agent needs."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import TypeAdapter

from foja.engine.ledger.event import Event
from foja.interfaces.answers.streams import OpenedConversation, ProvenEvent
from foja.interfaces.operations.operation import Made
from foja.pure.core.bundle.proof_file import SUFFIX
from foja.pure.models.documents.view import ShownDocument

_JSON: TypeAdapter[Any] = TypeAdapter(Any)
STATUS = ("id", "name", "state", "pipeline", "witness_hash", "required_evidence", "explain", "note")
EVIDENCE = ("evidence", "status", "confirmed_at", "reason")


def shown(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Made):
        return shown(value.answer)
    if chosen := CHOSEN.get(type(value)):
        return shown(chosen(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: shown(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: shown(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return _JSON.dump_python(value, mode="json")


def _event(event: Event) -> Mapping[str, Any]:
    return {**event.envelope(), "replayed": event.replayed}


def _opened(found: OpenedConversation) -> Mapping[str, Any]:
    return {"conversation_id": found.id, "event": found.event}


def _proven(found: ProvenEvent) -> Mapping[str, Any]:
    """Return the proof as one file in Base64, with its texts and what the judge says of it."""
    event, report = json.loads(found.event)["event"], found.verify(found.key)
    return {
        "file": b64encode(found.file()).decode(),
        "file_name": f"{event['entity_id']}-{event['seq']}{SUFFIX}",
        "event": found.event,
        "proof": found.proof,
        "index": found.index,
        "size": found.size,
        "log_key": found.key,
        "verdict": str(report.verdict),
        "headline": report.document()["headline"],
    }


def _status(document: ShownDocument) -> Mapping[str, Any]:
    found = {name: getattr(document, name) for name in STATUS}
    evidence = [{name: getattr(each, name) for name in EVIDENCE} for each in document.evidence]
    return {**found, "evidence": evidence}


# What an agent sees otherwise than a caller of the HTTP API.
CHOSEN: Mapping[type, Callable[[Any], Mapping[str, Any]]] = {
    Event: _event,
    OpenedConversation: _opened,
    ProvenEvent: _proven,
    ShownDocument: _status,
}
