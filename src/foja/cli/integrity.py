"""`foja audit` and `foja fsck`: exit code 0 if nothing is found, else 1."""

from __future__ import annotations

from argparse import Namespace

from foja.cli.installation import open_database, open_object_store, read_settings, read_verifiers
from foja.cli.log.verify import read_text
from foja.cli.output import print_json, print_line, progress_bar
from foja.observe.audit import audit as run_audit
from foja.observe.findings import CheckReport
from foja.observe.fsck import Outside
from foja.observe.fsck import fsck as run_fsck


async def audit(arguments: Namespace) -> int:
    """Run the audit queries and print the report."""
    limit = read_settings(arguments).max_lag_seconds
    async with open_database(arguments) as url:
        report = await run_audit(url, max_lag_seconds=limit)
    return _print_report(report, as_json=arguments.json)


async def fsck(arguments: Namespace) -> int:
    """Derive everything again from the rows and print the report."""
    trusted_checkpoint = read_text(arguments.checkpoint) if arguments.checkpoint else None
    async with open_database(arguments) as url:
        keys = await read_verifiers(arguments, url)
        outside = Outside(open_object_store(arguments), keys, trusted_checkpoint)
        with progress_bar("checking") as bar:
            report = await run_fsck(url, outside, tiles=arguments.tiles, progress=bar)
    return _print_report(report, as_json=arguments.json)


def _print_report(report: CheckReport, *, as_json: bool) -> int:
    if as_json:
        print_json(report.document())
    else:
        _print_text(report)
    return 0 if report.clean else 1


def _print_text(report: CheckReport) -> None:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in report.counts.items())
    if report.first is None:
        print_line(f"clean: {counts}")
        return
    print_line(f"first: {report.first.where}")
    for finding in report.findings:
        print_line(f"  {finding}")
    if report.total > len(report.findings):
        print_line(f"  … and {report.total - len(report.findings):,} more")
    print_line(f"{report.total:,} found in {counts}")
