"""`foja bundle`: write the evidence of a document as one file and print its verdict."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO

from foja.cli.installation import open_installation
from foja.cli.output import print_json, print_line
from foja.judge.report import Report
from foja.verification import verify


async def bundle(arguments: Namespace) -> int:
    """Write the bundle and, with --certificate, the PDF; return 0 if they are written."""
    target: Path = arguments.output
    async with open_installation(arguments) as app:
        with _atomic_file(target) as file:
            await app.documents.write_bundle(
                arguments.document, file, with_document=not arguments.without_document
            )
        report = await asyncio.to_thread(verify, target, trust=app.trust)
        note = (await app.documents.view(arguments.document)).note
    sha256 = await asyncio.to_thread(_digest, target)
    if arguments.certificate:
        _write_certificate(arguments, report, sha256)
    _print_result(arguments, report, sha256, note)
    return 0


@contextmanager
def _atomic_file(target: Path) -> Iterator[BinaryIO]:
    """Yield a file that is renamed to `target` when complete, and removed if the block fails."""
    unfinished = target.with_name(f"{target.name}.partial")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_certificate(arguments: Namespace, report: Report, sha256: str) -> None:
    from foja.certificate.page import BundleInfo, certificate  # late: it is heavy and rarely used

    bundle_info = BundleInfo(sha256, arguments.output.stat().st_size)
    arguments.certificate.write_bytes(certificate(report, bundle_info, language=arguments.language))


def _print_result(arguments: Namespace, report: Report, sha256: str, note: str | None) -> None:
    target, certificate = arguments.output, arguments.certificate
    if arguments.json:
        files = {"file": target, "sha256": sha256, "size": target.stat().st_size, "certificate": certificate}
        print_json({**files, "verdict": report.verdict.value, "note": note})
        return
    print_line(f"wrote {target}: {report.verdict.value}, checked with the trust roots of this installation")
    if note:
        print_line(note)
    if certificate:
        print_line(f"wrote {certificate}: a report for people, not evidence")
    print_line(f"verify it anywhere: foja verify {target} --trust ROOTS")
    print_line("send the roots separately: `foja log key` and `foja tsa root` print them")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
