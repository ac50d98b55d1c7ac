"""`foja retry`: new attempts for what was given up, of one document, of several, of all."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from foja.app import App
from foja.cli.documents.protect import SHOWN, at_once
from foja.cli.documents.status import identify
from foja.cli.installation import opened
from foja.cli.output import Progress, progress, record, report_error, say
from foja.documents.model.events import Evidence
from foja.errors import BadPayload, OutOfTurn, Refused
from foja.ledger.event import Event


@dataclass(slots=True)
class Grants:
    """What was granted, and how much was looked at."""

    total: int
    looked_at: int = 0
    refused: int = 0
    said: list[Event] = field(default_factory=list)


async def retry(arguments: Namespace) -> int:
    """Grant new attempts; 1 if a document was named of which nothing was given up."""
    documents, evidence = _named(arguments)
    async with opened(arguments) as app:
        with progress("granting") as bar:
            wanted = await _failed(app, evidence) if arguments.all else documents
            grants = await _grant_all(app, wanted, evidence, arguments, bar)
    if not arguments.json:
        _tell(grants)
    return 1 if grants.refused else 0


def _named(arguments: Namespace) -> tuple[Sequence[str], Sequence[Evidence]]:
    """Return the documents, and the evidence in question; it may be the last word."""
    documents: list[str] = arguments.documents
    words = [word.strip() for word in arguments.evidence.split(",")] if arguments.evidence else []
    if not words and documents and documents[-1] in set(Evidence):
        documents, words = documents[:-1], documents[-1:]
    if unknown := [word for word in words if word not in set(Evidence)]:
        raise BadPayload(f"{unknown[0]!r} is no evidence; it is one of {', '.join(Evidence)}")
    return documents, [Evidence(word) for word in words] or list(Evidence)


async def _failed(app: App, evidence: Sequence[Evidence]) -> Sequence[str]:
    """Return the documents that may need it; the histories of others are not read."""
    found: list[UUID] = []
    while page := await app.documents.failed(evidence, after=found[-1] if found else None):
        found += page
    return [str(document) for document in found]


async def _grant_all(
    app: App,
    documents: Sequence[str],
    evidence: Sequence[Evidence],
    arguments: Namespace,
    bar: Progress | None,
) -> Grants:
    grants = Grants(len(documents))

    async def grant(word: str) -> None:
        try:
            document = await identify(app, word)
            said = await app.documents.grant(document, evidence, reason=arguments.reason)
            if not said and not arguments.all:
                raise OutOfTurn(
                    f"nothing{_of(evidence)} was given up for {document}; "
                    f"`foja explain {document}` says where it stands"
                )
        except Refused as error:
            grants.refused += 1
            report_error(error, as_json=arguments.json)
            return
        grants.said += said
        for event in said if arguments.json else ():
            record(event.envelope())
        grants.looked_at += 1
        if bar:
            bar(grants.looked_at, grants.total)

    await at_once(documents, grant)
    return grants


def _of(evidence: Sequence[Evidence]) -> str:
    return "" if len(evidence) == len(Evidence) else f" of {', '.join(evidence)}"


def _tell(grants: Grants) -> None:
    for event in grants.said[:SHOWN]:
        evidence = event.payload["evidence"]
        say(f"event {event.seq} of {event.entity_id}: new attempts are granted for {evidence}")
    if len(grants.said) > SHOWN:
        say(f"… and {len(grants.said) - SHOWN:,} more")
    documents = len({event.entity_id for event in grants.said})
    if documents > 1:
        say(f"{documents:,} documents have new attempts")
    elif not documents and not grants.refused:
        say("nothing is given up")
