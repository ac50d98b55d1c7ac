"""`foja verify`: files in, a report out. The judge reads nothing by itself."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from foja.cli.output import report_error, say
from foja.errors import Refused
from foja.judge.render import as_html, as_text
from foja.judge.report import Report, Verdict
from foja.judge.trust import Trust
from foja.judge.trust_parser import read
from foja.verification import verify as judge
from foja.verification import with_headers

UNDECIDED = Verdict.INDETERMINATE.exit_code


def verify(arguments: Namespace) -> int | Coroutine[Any, Any, int]:
    """Print the report and end with 0 (passed), 2 (undecided) or 1 (failed)."""
    try:
        trust = _trust(arguments)
        return _verify_online(arguments, trust) if arguments.online else _verify(arguments, trust)
    except Refused as error:
        report_error(error, as_json=arguments.json)
        return UNDECIDED


async def _verify_online(arguments: Namespace, trust: Trust) -> int:
    """Do the same with headers and blocks that your own nodes know."""
    from foja.cli.installation import settings_of
    from foja.cli.verify.online import completed

    files = [*arguments.proof, *([arguments.file] if arguments.file else [])]
    proofs = [each for path in files for each in _proofs_in(path)]
    return _verify(arguments, await completed(trust, proofs, settings_of(arguments)))


def _verify(arguments: Namespace, trust: Trust) -> int:
    try:
        report = judge(arguments.file, trust, arguments.at, proofs=arguments.proof, digest=arguments.digest)
    except Refused as error:
        report_error(error, as_json=arguments.json)
        return UNDECIDED
    _tell(arguments, report)
    return report.verdict.exit_code


def _tell(arguments: Namespace, report: Report) -> None:
    if arguments.html:
        arguments.html.write_text(as_html(report), encoding="utf-8")
    if arguments.json:
        sys.stdout.buffer.write(report.json())
        sys.stdout.buffer.flush()
    else:
        say(as_text(report).rstrip("\n"))


def _trust(arguments: Namespace) -> Trust:
    if arguments.file is None and arguments.digest is None:
        raise Refused("nothing to verify: give a FILE, or --digest sha256:HEX")
    items = [_item(word) for word in arguments.trust]
    if arguments.policy:
        items.append(arguments.policy.read_bytes())
    return with_headers(read(items), arguments.headers)


def _item(word: str) -> str | bytes:
    """Return the content of a file, or the word itself where it is a key and not a file."""
    path = Path(word)
    if "+" in word or word.startswith(("evm-", "bitcoin-")):
        return path.read_bytes() if path.is_file() else word
    return path.read_bytes()


def _proofs_in(path: Path) -> list[bytes]:
    from foja.judge.missing import proofs_in

    with path.open("rb") as file:
        return proofs_in(file)
