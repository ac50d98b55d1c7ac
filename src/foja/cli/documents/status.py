"""`foja status` and `foja explain`: print the state of documents and what happens next."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from uuid import UUID

from foja.app import App
from foja.cli.documents.protect import digest, print_notes
from foja.cli.installation import open_installation
from foja.cli.output import print_json, print_json_line, print_line, print_table
from foja.documents.model.view import DocumentView
from foja.errors import UnknownEntity


async def status(arguments: Namespace) -> int:
    """Print one document, or a list of the newest."""
    async with open_installation(arguments) as app:
        if arguments.rebuild:
            return await _rebuild(app, arguments)
        if arguments.document is None:
            await _print_list(app, arguments)
            return 0
        view = await app.documents.view(await find_document(app, arguments.document))
        if arguments.json:
            print_json(view.document())
        else:
            _print_view(view)
    return 0


async def explain(arguments: Namespace) -> int:
    """Print what a document waits for and what happens next."""
    async with open_installation(arguments) as app:
        view = await app.documents.view(await find_document(app, arguments.document))
    if arguments.json:
        print_json({"id": str(view.id), "explain": view.explain, "note": view.note})
        return 0
    _print_explanation(view)
    return 0


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
        raise UnknownEntity(f"'{path}' is not a document id and not a file; `foja status` lists the ids")
    parts = path.resolve().parts
    return digest(path)[0], ["/".join(parts[-length:]) for length in range(1, len(parts))]


def _print_view(view: DocumentView) -> None:
    """Print everything about a document."""
    facts = [
        ("document", view.id),
        ("name", view.name),
        *([("predecessor", view.predecessor)] if view.predecessor else []),
        *([("successors", ", ".join(map(str, view.successors)))] if view.successors else []),
        ("witness", view.witness_hash),
        ("state", view.state),
        ("pipeline", view.pipeline),
        ("lifecycle", view.lifecycle),
    ]
    for name, value in facts:
        print_line(f"{name:<12}{value if value is not None else '-'}")
    if view.evidence:
        print_line()
        rows = [
            (each.evidence, each.status, each.attempt, _format_time(each.since), each.failure_code)
            for each in view.evidence
        ]
        print_table(("evidence", "status", "attempt", "since", "last failure"), rows)
    print_line()
    timeline = [(each.seq, _format_time(each.at), each.words) for each in view.timeline]
    print_table(("#", "at", "event"), timeline)
    print_line()
    _print_explanation(view)


def _print_explanation(view: DocumentView) -> None:
    print_line(view.explain)
    if view.note:
        print_line(view.note)


async def _rebuild(app: App, arguments: Namespace) -> int:
    rebuilt = await app.rebuild()
    if arguments.json:
        print_json(asdict(rebuilt))
    else:
        print_line(f"{rebuilt.documents:,} documents; {rebuilt.mended:,} list entries were wrong or missing")
        if rebuilt.guards:
            print_line(f"the attempts of {rebuilt.guards:,} documents did not match their events")
    return 0


async def _print_list(app: App, arguments: Namespace) -> None:
    listed = await app.documents.list(limit=arguments.limit)
    if arguments.json:
        for each in listed:
            print_json_line({name: getattr(each, name) for name in each.__slots__})
        return
    if not listed:
        print_line("no documents yet; `foja protect FILE` adds one, and `foja worker` lists it")
        return
    rows = [(each.state, each.pipeline, _format_time(each.began_at), each.id, each.name) for each in listed]
    print_table(("state", "pipeline", "since", "document", "name"), rows)
    print_notes(each.note for each in listed)


def _format_time(at: datetime | None) -> str | None:
    return at.isoformat(sep=" ", timespec="seconds") if at else None
