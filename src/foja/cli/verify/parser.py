"""The words of `foja verify`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

from foja.cli.parser.verbs import Verbs

EXAMPLES = """\
  foja verify contract.asice --trust roots.pem --trust foja.vkey
  foja verify contract.pdf --proof token.tsr --trust roots.pem
  foja verify contract.pdf --proof contract.pdf.ots --headers block-358391.hex --json
  foja verify --digest sha256:HEX --proof x.sigstore.json --trust trusted_root.json --html report.html"""


def add_verify(add: Verbs) -> None:
    """Add the verb."""
    verify = add(
        "verify",
        "verify.command:verify",
        "say what evidence proves, offline: 0 passed, 2 undecided, 1 failed",
        EXAMPLES,
    )
    verify.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a bundle, or a file with proofs")
    verify.add_argument(
        "--proof", action="append", default=[], type=Path, metavar="FILE", help="a proof beside the file"
    )
    verify.add_argument("--digest", metavar="sha256:HEX", help="the file's digest, instead of the file")
    verify.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="FILE",
        help="certificates, keys or a trusted_root.json to trust; may be repeated",
    )
    verify.add_argument(
        "--headers",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="block-<height>.* of Bitcoin, or an EVM header: trusted",
    )
    verify.add_argument("--policy", type=Path, metavar="FILE", help="what to require and trust, as JSON")
    verify.add_argument("--at", type=_time, metavar="TIME", help="judge as of this time (now)")
    verify.add_argument("--html", type=Path, metavar="OUT", help="also write the report as a page")
    verify.add_argument(
        "--online", action="store_true", help="ask your own nodes for headers and blocks that are missing"
    )


def _time(word: str) -> object:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise ArgumentTypeError(f"{word!r} is not a time such as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
