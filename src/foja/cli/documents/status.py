"""`foja status` and `foja explain`: where a document stands, and what happens next."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from uuid import UUID

from foja.app import App
from foja.cli.documents.protect import digest, remember
from foja.cli.installation import opened
from foja.cli.output import document, record, say, table
from foja.documents.model.view import DocumentView
from foja.errors import UnknownEntity


async def status(arguments: Namespace) -> int:
    """Show one document, or the newest."""
    async with opened(arguments) as app:
        if arguments.rebuild:
            return await _rebuild(app, arguments)
        if arguments.document is None:
            await _list(app, arguments)
            return 0
        view = await app.documents.view(await identify(app, arguments.document))
        if arguments.json:
            document(view.document())
        else:
            show(view)
    return 0


async def explain(arguments: Namespace) -> int:
    """Say what happens next."""
    async with opened(arguments) as app:
        view = await app.documents.view(await identify(app, arguments.document))
    if arguments.json:
        document({"id": str(view.id), "explain": view.explain, "note": view.note})
        return 0
    _conclude(view)
    return 0


async def identify(app: App, word: str) -> UUID:
    """Return the document a word is about: its id, or that of a file as it is now."""
    try:
        return UUID(word)
    except ValueError:
        sha256, names = await asyncio.to_thread(_read, Path(word))
    known = await app.documents.known([app.documents.identity(sha256, name) for name in names])
    known = known or await app.documents.versions(sha256, names)
    if not known:
        raise UnknownEntity(f"{word} is not protected as it is now; `foja protect {word}` does it")
    return known[0]


def _read(path: Path) -> tuple[str, list[str]]:
    """Return the digest of a file, and every name it may have been protected under."""
    if not path.is_file():
        raise UnknownEntity(f"'{path}' is neither a document's id nor a file; `foja status` lists the ids")
    parts = path.resolve().parts
    return digest(path)[0], ["/".join(parts[-length:]) for length in range(1, len(parts))]


def show(view: DocumentView) -> None:
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
        say(f"{name:<12}{value if value is not None else '-'}")
    if view.evidence:
        say()
        rows = [
            (each.evidence, each.status, each.attempt, _moment(each.since), each.failure_code)
            for each in view.evidence
        ]
        table(("evidence", "status", "attempt", "since", "last failure"), rows)
    say()
    table(("#", "at", "what happened"), [(each.seq, _moment(each.at), each.words) for each in view.timeline])
    say()
    _conclude(view)


def _conclude(view: DocumentView) -> None:
    say(view.explain)
    if view.note:
        say(view.note)


async def _rebuild(app: App, arguments: Namespace) -> int:
    rebuilt = await app.rebuild()
    if arguments.json:
        document(asdict(rebuilt))
    else:
        say(f"{rebuilt.documents:,} documents, of which {rebuilt.mended:,} were listed wrong or not at all")
        if rebuilt.guards:
            say(f"of {rebuilt.guards:,} the guards and the deadlines knew something else than the events")
    return 0


async def _list(app: App, arguments: Namespace) -> None:
    listed = await app.documents.list(limit=arguments.limit)
    if arguments.json:
        for each in listed:
            record({name: getattr(each, name) for name in each.__slots__})
        return
    if not listed:
        say("no document is listed yet; `foja protect FILE` adds one, and a worker lists it")
        return
    rows = [(each.state, each.pipeline, _moment(each.began_at), each.id, each.name) for each in listed]
    table(("state", "pipeline", "since", "document", "name"), rows)
    remember(each.note for each in listed)


def _moment(at: datetime | None) -> str | None:
    return at.isoformat(sep=" ", timespec="seconds") if at else None
