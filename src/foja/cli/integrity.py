"""`foja audit` and `foja fsck`: 0 if all is well, 1 if anything was found."""

from __future__ import annotations

from argparse import Namespace

from foja.cli.installation import published, recorded, settings_of, verifiers
from foja.cli.log.verify import read_text
from foja.cli.output import document, progress, say
from foja.observe import audit as questions
from foja.observe import fsck as derivation
from foja.observe.findings import CheckReport


async def audit(arguments: Namespace) -> int:
    """Ask whether the ledger is well."""
    limit = settings_of(arguments).max_lag_seconds
    async with recorded(arguments) as url:
        report = await questions.audit(url, max_lag_seconds=limit)
    return _tell(report, as_json=arguments.json)


async def fsck(arguments: Namespace) -> int:
    """Derive everything again from the rows."""
    kept = read_text(arguments.checkpoint) if arguments.checkpoint else None
    async with recorded(arguments) as url:
        keys = await verifiers(arguments, url)
        outside = derivation.Outside(published(arguments), keys, kept)
        with progress("checking") as bar:
            report = await derivation.fsck(url, outside, tiles=arguments.tiles, progress=bar)
    return _tell(report, as_json=arguments.json)


def _tell(report: CheckReport, *, as_json: bool) -> int:
    if as_json:
        document(report.document())
    else:
        _tell_people(report)
    return 0 if report.clean else 1


def _tell_people(report: CheckReport) -> None:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in report.counts.items())
    if report.first is None:
        say(f"clean: {counts}")
        return
    say(f"first: {report.first.where}")
    for finding in report.findings:
        say(f"  {finding}")
    if report.total > len(report.findings):
        say(f"  … and {report.total - len(report.findings):,} more")
    say(f"{report.total:,} found in {counts}")
