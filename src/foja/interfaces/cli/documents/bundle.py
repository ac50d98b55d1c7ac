"""`foja bundle`: write the evidence of a document as one file and print its verdict."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from foja.files import read_file
from foja.interfaces.cli.documents.files import digest
from foja.interfaces.cli.documents.status import find_document
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import print_result
from foja.interfaces.cli.output_files import check_targets, new_file, write_file
from foja.pure.judge.container.files import LARGEST_STATEMENT
from foja.pure.judge.render.headline import headline
from foja.pure.judge.report import Report
from foja.verification import verify


async def bundle(arguments: Namespace) -> None:
    """Write the bundle and, with --certificate, the PDF; return 0 if they are written."""
    target: Path = arguments.output
    check_targets(arguments, target, arguments.certificate)
    async with open_installation(arguments) as app:
        document_id = await find_document(app, arguments.document)
        statements = [read_file(each, LARGEST_STATEMENT) for each in arguments.monitor]
        inside = not arguments.without_document
        with new_file(arguments, target) as file:
            await app.documents.write_bundle(document_id, file, with_document=inside, statements=statements)
        trust = await app.documents.trust(document_id)
        report = await asyncio.to_thread(verify, target, trust=trust)
        note = (await app.documents.view(document_id)).note
    sha256, size = await asyncio.to_thread(digest, target)
    if arguments.certificate:
        from foja.interfaces.certificate.page import (  # late: it is heavy and rarely used
            BundleInfo,
            certificate,
        )

        page = certificate(report, BundleInfo(sha256, size), language=arguments.language)
        write_file(arguments, arguments.certificate, page)
    files = {"file": target, "sha256": sha256, "size": size, "certificate": arguments.certificate}
    document = {**files, "verdict": report.verdict.value, "note": note}
    print_result(arguments, document, *_lines(arguments, report, note))


def _lines(arguments: Namespace, report: Report, note: str | None) -> Iterator[str]:
    target = arguments.output
    yield f"wrote {target}: {report.verdict.value}, checked with the trust roots of this installation"
    yield headline(report).first
    if note:
        yield note
    if arguments.certificate:
        yield f"wrote {arguments.certificate}: a report for people, not evidence"
    yield f"verify it anywhere: foja verify {target} --trust TRUST"
    yield f"send the trust separately: `foja trust {arguments.document} -o TRUST` writes it"
