"""`foja status` and `foja explain`: print the state of documents and what happens next."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from foja.domains.documents.lists import DocumentLists
from foja.errors import SetupFailed, UnknownEntity
from foja.interfaces.cli.documents.files import digest
from foja.interfaces.cli.documents.lists import open_lists
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import (
    print_json_line,
    print_line,
    print_lines,
    print_notes,
    print_result,
    table,
)
from foja.pure.quotation import quoted

if TYPE_CHECKING:
    from foja.app import App
    from foja.pure.models.documents.view import DocumentView


async def status(arguments: Namespace) -> None:
    """Print one document, or a list of the newest."""
    if arguments.document is None and not arguments.rebuild:
        async with open_lists(arguments) as lists:
            await _print_list(lists, arguments)
        return
    async with open_installation(arguments) as app:
        if arguments.rebuild:
            from foja.interfaces.cli.integrity import print_rebuilt  # late: a list needs none of it

            await print_rebuilt(app, arguments)
            return
        view = await app.documents.view(await find_document(app, arguments.document))
        print_result(arguments, view.document(), *_describe(view))


async def explain(arguments: Namespace) -> None:
    """Print what a document waits for and what happens next."""
    async with open_installation(arguments) as app:
        view = await app.documents.view(await find_document(app, arguments.document))
    document = {"id": view.id, "explain": view.explain, "note": view.note}
    print_result(arguments, document, *_explanation(view))


async def find_document(app: App, text: str) -> UUID:
    """Return the id of a document, given as its id or as a file with its current content."""
    try:
        return UUID(text)
    except ValueError:
        sha256, names = await asyncio.to_thread(_read_file, Path(text))
    known = await app.documents.known([app.documents.identity(sha256, name) for name in names])
    known = known or await app.documents.versions(sha256, names)
    if not known:
        raise UnknownEntity(f"the current content of {text} is not protected; run `foja protect {text}`")
    return known[0]


def _read_file(path: Path) -> tuple[str, list[str]]:
    """Return the digest of a file and every name that its document may have."""
    if not path.is_file():
        raise SetupFailed(f"'{path}' is not a document id and not a file; `foja status` lists the ids")
    parts = path.resolve().parts
    return digest(path)[0], ["/".join(parts[-length:]) for length in range(1, len(parts))]


def _describe(view: DocumentView) -> Iterator[str]:
    """Yield everything about a document as lines."""
    facts = [
        ("document", view.id),
        ("name", quoted(view.name) if view.name else None),
        *([("predecessor", view.predecessor)] if view.predecessor else []),
        *([("successors", ", ".join(map(str, view.successors)))] if view.successors else []),
        ("witness", view.witness_hash),
        ("state", view.state),
        ("pipeline", view.pipeline),
        ("lifecycle", view.lifecycle),
    ]
    yield from (f"{name:<12}{value if value is not None else '-'}" for name, value in facts)
    yield ""
    if view.evidence:
        rows = [
            (each.evidence, each.status, each.attempt, _format_time(each.since), each.failure_code)
            for each in view.evidence
        ]
        yield from table(("evidence", "status", "attempt", "since", "last failure"), rows)
        yield ""
    if view.signatures:
        signed = [
            (each.seq, each.format, each.status, each.signer or each.detail) for each in view.signatures
        ]
        yield from table(("#", "signature", "status", "by"), signed)
        yield ""
    timeline = [(each.seq, _format_time(each.at), each.words) for each in view.timeline]
    yield from table(("#", "at", "event"), timeline)
    yield ""
    yield from _explanation(view)


def _explanation(view: DocumentView) -> list[str]:
    return [view.explain, view.note] if view.note else [view.explain]


async def _print_list(lists: DocumentLists, arguments: Namespace) -> None:
    listed = await lists.list(limit=arguments.limit, state=arguments.state)
    if arguments.json:
        for each in listed:
            print_json_line({name: getattr(each, name) for name in each.__slots__})
        return
    if not listed:
        state = arguments.state
        print_line(
            f"no documents {f'in the state {state}' if state else 'yet; `foja protect FILE` adds one'}"
        )
        return
    rows = [
        (
            each.state,
            "given_up" if each.given_up else each.pipeline,
            _format_time(each.began_at),
            each.id,
            quoted(each.name) if each.name else None,
        )
        for each in listed
    ]
    print_lines(table(("state", "pipeline", "since", "document", "name"), rows))
    print_notes(each.note for each in listed)


def _format_time(at: datetime | None) -> str | None:
    return at.isoformat(sep=" ", timespec="seconds") if at else None
