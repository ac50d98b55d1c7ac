"""`foja verify`: files in, a report out. The judge reads nothing by itself."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from foja.cli.output import complain, say
from foja.errors import Refused
from foja.judge.report import Report, Verdict
from foja.judge.writing import as_html, as_text
from foja.verification import verify as judge

UNDECIDED = Verdict.INDETERMINATE.exit_code


def verify(arguments: Namespace) -> int:
    """Print the report and end with 0 (passed), 2 (undecided) or 1 (failed)."""
    try:
        report = _report(arguments)
    except Refused as error:
        complain(str(error))
        return UNDECIDED
    if arguments.html:
        arguments.html.write_text(as_html(report), encoding="utf-8")
    if arguments.json:
        sys.stdout.buffer.write(report.json())
        sys.stdout.buffer.flush()
    else:
        say(as_text(report).rstrip("\n"))
    return report.verdict.exit_code


def _report(arguments: Namespace) -> Report:
    if arguments.file is None and arguments.digest is None:
        raise Refused("nothing to verify: give a FILE, or --digest sha256:HEX")
    trust = [_trust(word) for word in arguments.trust]
    if arguments.policy:
        trust.append(arguments.policy.read_bytes())
    return judge(
        arguments.file,
        trust,
        arguments.at,
        proofs=arguments.proof,
        headers=arguments.headers,
        digest=arguments.digest,
    )


def _trust(word: str) -> str | bytes:
    """Return the content of a file, or the word itself where it is a key and not a file."""
    path = Path(word)
    if "+" in word or word.startswith(("evm-", "bitcoin-")):
        return path.read_bytes() if path.is_file() else word
    return path.read_bytes()
