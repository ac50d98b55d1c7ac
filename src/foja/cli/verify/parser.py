"""The parser of `foja verify`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

from foja.cli.parser.verbs import AddVerb

EXAMPLES = """\
  foja verify contract.asice --trust roots.pem --trust foja.vkey
  foja verify contract.pdf --proof token.tsr --trust roots.pem
  foja verify contract.pdf --proof contract.pdf.ots --headers block-358391.hex --json
  foja verify --digest sha256:HEX --proof x.sigstore.json --trust trusted_root.json --html report.html"""


def add_verify(add: AddVerb) -> None:
    """Add the verb `verify`."""
    verify = add(
        "verify",
        "verify.verify:verify",
        "check evidence offline; exit code 0 passed, 2 indeterminate, 1 failed",
        EXAMPLES,
    )
    verify.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a bundle, or a file with --proof")
    verify.add_argument(
        "--proof", action="append", default=[], type=Path, metavar="FILE", help="a proof; may be repeated"
    )
    verify.add_argument("--digest", metavar="sha256:HEX", help="the digest of the file, instead of the file")
    verify.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="FILE",
        help="trusted certificates, keys or trusted_root.json; may be repeated",
    )
    verify.add_argument(
        "--headers",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a trusted Bitcoin header (block-<height>.*) or EVM header; may be repeated",
    )
    verify.add_argument("--domain", metavar="NAME", help="the domain of a history that does not name it")
    verify.add_argument("--policy", type=Path, metavar="FILE", help="requirements and trust, as JSON")
    verify.add_argument("--at", type=_time, metavar="TIME", help="check as of this time (now)")
    verify.add_argument("--html", type=Path, metavar="OUT", help="also write the report as an HTML page")
    verify.add_argument(
        "--online", action="store_true", help="request missing headers and blocks from your own nodes"
    )


def _time(text: str) -> object:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time: expected 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
