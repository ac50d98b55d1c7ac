"""`foja retry`: grant new attempts for failed evidence of one, several or all documents."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from foja.app import App
from foja.cli.documents.protect import SHOWN, run_parallel
from foja.cli.documents.status import find_document
from foja.cli.installation import open_installation
from foja.cli.output import Progress, print_json_line, print_line, progress_bar, report_error
from foja.documents.model.events import Evidence
from foja.errors import BadPayload, OutOfTurn, Refused
from foja.ledger.event import Event


@dataclass(slots=True)
class Grants:
    """The granted retries, as events, and how many documents were examined."""

    total: int
    examined: int = 0
    refused: int = 0
    events: list[Event] = field(default_factory=list)


async def retry(arguments: Namespace) -> int:
    """Grant new attempts; return 1 if a named document has no failed evidence."""
    documents, evidence = _parse_arguments(arguments)
    async with open_installation(arguments) as app:
        with progress_bar("granting") as bar:
            documents = await _find_failed(app, evidence) if arguments.all else documents
            grants = await _grant_all(app, documents, evidence, arguments, bar)
    if not arguments.json:
        _print_result(grants)
    return 1 if grants.refused else 0


def _parse_arguments(arguments: Namespace) -> tuple[Sequence[str], Sequence[Evidence]]:
    """Return the documents and the evidence, which may be the last of the documents."""
    documents: list[str] = arguments.documents
    names = [name.strip() for name in arguments.evidence.split(",")] if arguments.evidence else []
    if not names and documents and documents[-1] in set(Evidence):
        documents, names = documents[:-1], documents[-1:]
    if unknown := [name for name in names if name not in set(Evidence)]:
        raise BadPayload(f"{unknown[0]!r} is not a valid evidence: expected one of {', '.join(Evidence)}")
    return documents, [Evidence(name) for name in names] or list(Evidence)


async def _find_failed(app: App, evidence: Sequence[Evidence]) -> Sequence[str]:
    """Return the documents with failed evidence; other streams are not read."""
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

    async def grant(text: str) -> None:
        try:
            document = await find_document(app, text)
            events = await app.documents.grant(document, evidence, reason=arguments.reason)
            if not events and not arguments.all:
                raise OutOfTurn(
                    f"{document} has no failed evidence{_of(evidence)}; "
                    f"`foja explain {document}` shows what it waits for"
                )
        except Refused as error:
            grants.refused += 1
            report_error(error, as_json=arguments.json)
            return
        grants.events += events
        for event in events if arguments.json else ():
            print_json_line(event.envelope())
        grants.examined += 1
        if bar:
            bar(grants.examined, grants.total)

    await run_parallel(documents, grant)
    return grants


def _of(evidence: Sequence[Evidence]) -> str:
    return "" if len(evidence) == len(Evidence) else f" among {', '.join(evidence)}"


def _print_result(grants: Grants) -> None:
    for event in grants.events[:SHOWN]:
        evidence = event.payload["evidence"]
        print_line(f"event {event.seq} of {event.entity_id}: new attempts for {evidence}")
    if len(grants.events) > SHOWN:
        print_line(f"… and {len(grants.events) - SHOWN:,} more")
    documents = len({event.entity_id for event in grants.events})
    if documents > 1:
        print_line(f"{documents:,} documents have new attempts")
    elif not documents and not grants.refused:
        print_line("no evidence has failed")
