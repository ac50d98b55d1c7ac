"""The client has the methods of the library, or docs/clients.md says which it has not, and why."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from foja.app import App
from foja.client.acts import AccessActs, AnchorsActs, JobsActs, MaintenanceActs, WebhooksActs
from foja.client.client import Client
from foja.client.conversations import Conversation, Conversations, Slots
from foja.client.documents import Document, Documents
from foja.client.images import Images
from foja.client.streams import Stream, Streams
from foja.domains.access.keys import Keys
from foja.domains.access.service import Access
from foja.domains.access.sessions import Sessions
from foja.domains.conversations import service as conversations
from foja.domains.documents import document, service
from foja.domains.images import service as images
from foja.domains.streams import OwnStream
from foja.domains.streams import Streams as OwnStreams
from foja.domains.system.orphans.service import Orphans
from foja.domains.webhooks.service import Webhooks
from foja.engine.anchors.admin import Anchors
from foja.engine.jobs.admin import Jobs
from foja.engine.ledger import slots

PAGE = Path(__file__).parents[3] / "docs/clients.md"
EVERYWHERE = {"self", "actor", "idempotency_key"}  # the text above the table is about them
PAIRS: Mapping[str, tuple[Sequence[type], type]] = {
    "conversations": ([conversations.Conversations], Conversations),
    "a conversation": ([conversations.Conversation], Conversation),
    "slots": ([slots.Slots], Slots),
    "streams": ([OwnStreams], Streams),
    "a stream": ([OwnStream], Stream),
    "documents": ([service.Documents], Documents),
    "a document": ([document.Document], Document),
    "images": ([images.Images], Images),
    "jobs": ([Jobs], JobsActs),
    "anchors": ([Anchors], AnchorsActs),
    "webhooks": ([Webhooks], WebhooksActs),
    "access": ([Access, Keys, Sessions], AccessActs),
    "the store": ([Orphans], MaintenanceActs),
    "the app": ([App], Client),
}


def methods(*kinds: type) -> dict[str, Any]:
    """Return the public methods."""
    found = [each for kind in kinds for each in inspect.getmembers(kind, inspect.isfunction)]
    return {name: each for name, each in found if not name.startswith("_")}


def taken(function: Any) -> set[str]:
    """Return the names of what a method takes, with those of `**fields`."""
    outer = inspect.signature(function, follow_wrapped=False).parameters.values()  # with the id of a thing
    found = inspect.signature(inspect.unwrap(function)).parameters.values()
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    names = {each.name for each in (*outer, *found) if each.kind not in several}
    for each in found:
        if each.kind is inspect.Parameter.VAR_KEYWORD and each.name == "fields":
            names |= get_type_hints(get_args(get_type_hints(inspect.unwrap(function))["fields"])[0]).keys()
    return names - EVERYWHERE


def missing(here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    """Yield the methods that only one side has, and what only its methods take, as `add(name)`."""
    yield from here.keys() - there.keys()
    for name in here.keys() & there.keys():
        yield from (f"{name}({each})" for each in taken(here[name]) - taken(there[name]))


def differences() -> dict[str, tuple[set[str], set[str]]]:
    """Return what only the library has, and what only the client has."""
    found = {}
    for name, (kinds, remote) in PAIRS.items():
        here, there = methods(*kinds), methods(remote)
        both = {*missing(here, there)}, {*missing(there, here)}
        if any(both):
            found[name] = both
    return found


def documented() -> dict[str, tuple[set[str], set[str]]]:
    """Return the table of docs/clients.md."""
    _, _, part = PAGE.read_text().partition("### What differs")
    rows = re.findall(r"^\| ([a-z ]+) \|([^|]*)\|([^|]*)\|[^|]+\|$", part.partition("\n## ")[0], re.MULTILINE)
    cells = {
        name: tuple({*re.findall(r"`([^`]+)`", cell)} for cell in (here, there)) for name, here, there in rows
    }
    return {name: (here, there) for name, (here, there) in cells.items() if name != "of"}


def test_what_differs_is_documented() -> None:
    assert differences() == documented()


def test_a_method_that_is_missing_on_one_side_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Conversation, "wait_for_approval")
    monkeypatch.setattr(Jobs, "touch", lambda self, job_id: None, raising=False)
    found, known = differences(), documented()
    assert found["a conversation"][0] - known["a conversation"][0] == {"wait_for_approval"}
    assert found["jobs"][0] - known["jobs"][0] == {"touch"}
