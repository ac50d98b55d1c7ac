"""`foja verify`: read the files, check them, print the report."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from foja.errors import Refused
from foja.files import open_file, read_file
from foja.interfaces.cli.input_files import open_shown
from foja.interfaces.cli.output import print_lines, report_error
from foja.interfaces.cli.output_files import check_targets, write_file
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.verification import verify as judge
from foja.verification import with_headers

INDETERMINATE = Verdict.INDETERMINATE.exit_code
LARGEST_TRUST = 16 << 20  # the certificates of all authorities of a browser have 1 MiB


def verify(arguments: Namespace) -> int | Coroutine[Any, Any, int]:
    """Print the report and return 0 (passed), 2 (indeterminate) or 1 (failed)."""
    check_targets(arguments, arguments.html)
    try:
        trust = _read_trust(arguments)
        return _verify_online(arguments, trust) if arguments.online else _verify(arguments, trust)
    except Refused as error:
        report_error(error, as_json=arguments.json)
        return INDETERMINATE


async def _verify_online(arguments: Namespace, trust: Trust) -> int:
    """Verify with the headers and blocks that the configured nodes return."""
    from foja.interfaces.cli.installation import read_settings
    from foja.interfaces.cli.verify.online import complete_trust

    files = [*arguments.proof, *([arguments.file] if arguments.file else [])]
    proofs = [each for path in files for each in _read_proofs(path)]
    return _verify(arguments, await complete_trust(trust, proofs, read_settings(arguments)))


def _verify(arguments: Namespace, trust: Trust) -> int:
    try:
        with open_shown(arguments.file) if arguments.file else nullcontext() as file:
            report = judge(
                file,
                trust,
                arguments.at,
                proofs=arguments.proof,
                digest=arguments.digest,
                name=arguments.file and arguments.file.name,
                domain=arguments.domain,
            )
    except Refused as error:
        report_error(error, as_json=arguments.json)
        return INDETERMINATE
    _print_report(arguments, report)
    return report.verdict.exit_code


def _print_report(arguments: Namespace, report: Report) -> None:
    if arguments.html:
        write_file(arguments, arguments.html, as_html(report, arguments.language))
    if arguments.json:
        sys.stdout.buffer.write(report.json())
        sys.stdout.buffer.flush()
    else:
        print_lines(as_text(report, arguments.language).rstrip("\n").split("\n"))


def _read_trust(arguments: Namespace) -> Trust:
    if arguments.file is None and arguments.digest is None:
        raise Refused("nothing to verify: give a FILE, or --digest sha256:HEX")
    items = [trust_item(text) for text in arguments.trust]
    if arguments.policy:
        items.append(read_file(arguments.policy, LARGEST_TRUST))
    return with_headers(read(items), arguments.headers)


def trust_item(text: str) -> str | bytes:
    """Return the content of a file, or the text itself if it is a key."""
    path = Path(text)
    if "+" in text or text.startswith(("evm-", "bitcoin-", "cosigners:", "restart:", "name ")):
        return read_file(path, LARGEST_TRUST) if path.is_file() else text
    return read_file(path, LARGEST_TRUST)


def _read_proofs(path: Path) -> list[bytes]:
    from foja.pure.judge.missing import proofs_in

    with open_file(path) as file:
        return proofs_in(file)
