"""`foja sign`: check a signature over a document and record it."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path

from foja.files import read_file
from foja.interfaces.cli.documents.status import find_document
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import print_result
from foja.pure.models.documents.signatures import view_signatures

LARGEST = 524_288  # in PEM, a signature is larger than its bytes


async def sign(arguments: Namespace) -> None:
    """Record a signature; a wrong one is refused."""
    paths = (arguments.signature, arguments.key, arguments.certificate)
    signature, key, certificate = [await asyncio.to_thread(_read, path) for path in paths]
    async with open_installation(arguments) as app:
        event = await app.documents.sign(
            await find_document(app, arguments.document),
            signature,
            format=arguments.format,
            key=key,
            certificate=certificate,
            signer=arguments.signer,
            reason=arguments.reason,
            actor=arguments.actor,
        )
    [shown] = view_signatures([event])
    text = f"event {event.seq} of {event.entity_id}: signed, {shown.status}: {shown.detail}"
    print_result(arguments, event.envelope(), text)


def _read(path: Path | None) -> bytes | None:
    return None if path is None else read_file(path, LARGEST)
