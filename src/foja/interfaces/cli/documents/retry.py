"""`foja retry`: grant new attempts for failed evidence of one, several or all documents."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from foja.app import App
from foja.engine.ledger.event import Event
from foja.errors import OutOfTurn, Refused, SetupFailed
from foja.interfaces.cli.documents.protect import SHOWN, run_parallel
from foja.interfaces.cli.documents.status import find_document
from foja.interfaces.cli.installation import open_to_write
from foja.interfaces.cli.output import print_json_line, print_line, progress_bar, report_error
from foja.pure.models.documents.events import Evidence


@dataclass(slots=True)
class Grants:
    """The granted retries, as events, and how many documents were refused one."""

    refused: int = 0
    events: list[Event] = field(default_factory=list)


async def retry(arguments: Namespace) -> int:
    """Grant new attempts; return 1 if a named document has no failed evidence."""
    documents, evidence = _parse_arguments(arguments)
    async with open_to_write(arguments, existing=True) as app:
        with progress_bar("granting") as bar:
            documents = await _find_failed(app, evidence) if arguments.all else documents
            grants = Grants()
            grant = partial(_grant, app, evidence, arguments, grants)
            await run_parallel(documents, grant, bar)
    if not arguments.json:
        _print_result(grants)
    return 1 if grants.refused else 0


def _parse_arguments(arguments: Namespace) -> tuple[Sequence[str], Sequence[Evidence]]:
    """Return the documents and the evidence, which may be the last of the documents."""
    documents: list[str] = arguments.documents
    names: Sequence[str] = arguments.evidence or []
    if not names and documents and documents[-1] in set(Evidence):
        documents, names = documents[:-1], documents[-1:]
    return documents, [Evidence(name) for name in names] or list(Evidence)


async def _find_failed(app: App, evidence: Sequence[Evidence]) -> Sequence[str]:
    """Return the documents with failed evidence; other streams are not read."""
    found: list[UUID] = []
    while page := await app.documents.failed(evidence, after=found[-1] if found else None):
        found += page
    return [str(document) for document in found]


async def _grant(
    app: App, evidence: Sequence[Evidence], arguments: Namespace, grants: Grants, text: str
) -> None:
    try:
        document = await find_document(app, text)
        events = await app.documents.grant(document, evidence, reason=arguments.reason, actor=arguments.actor)
        if not events and not arguments.all:
            among = "" if len(evidence) == len(Evidence) else f" among {', '.join(evidence)}"
            raise OutOfTurn(
                f"{document} has no failed evidence{among}; `foja explain {document}` shows what it waits for"
            )
    except (Refused, SetupFailed) as error:  # also a file that does not exist: the others are granted
        grants.refused += 1
        report_error(error, as_json=arguments.json)
        return
    grants.events += events
    for event in events if arguments.json else ():
        print_json_line(event.envelope())


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
