"""`foja bundle`: the evidence about a document as one file, and what the judge says of it."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO

from foja.cli.installation import opened
from foja.cli.output import document, say
from foja.judge.report import Report
from foja.verification import verify


async def bundle(arguments: Namespace) -> int:
    """Write the bundle, and the certificate if one is wanted; 0 if they are written."""
    target: Path = arguments.output
    async with opened(arguments) as app:
        with _whole(target) as file:
            await app.documents.write_bundle(
                arguments.document, file, with_document=not arguments.without_document
            )
        report = await asyncio.to_thread(verify, target, trust=app.trust)
        note = (await app.documents.view(arguments.document)).note
    sha256 = await asyncio.to_thread(_digest, target)
    if arguments.certificate:
        _certify(arguments, report, sha256)
    _tell(arguments, report, sha256, note)
    return 0


@contextmanager
def _whole(target: Path) -> Iterator[BinaryIO]:
    """Lend a file that gets its name when it is whole, and leaves nothing behind when it is not."""
    unfinished = target.with_name(f"{target.name}.partial")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _certify(arguments: Namespace, report: Report, sha256: str) -> None:
    from foja.certificate.page import BundleInfo, certificate  # late: only few want one, and it is heavy

    made = certificate(
        report, BundleInfo(sha256, arguments.output.stat().st_size), language=arguments.language
    )
    arguments.certificate.write_bytes(made)


def _tell(arguments: Namespace, report: Report, sha256: str, note: str | None) -> None:
    target, certificate = arguments.output, arguments.certificate
    if arguments.json:
        made = {"file": target, "sha256": sha256, "size": target.stat().st_size, "certificate": certificate}
        document({**made, "verdict": report.verdict.value, "note": note})
        return
    say(f"wrote {target}: {report.verdict.value} by the roots of this installation")
    if note:
        say(note)
    if certificate:
        say(f"wrote {certificate}: a page for people, not evidence")
    say(f"check it anywhere: foja verify {target} --trust ROOTS")
    say("the roots travel apart from it: `foja log key` and `foja tsa root` print ours")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
