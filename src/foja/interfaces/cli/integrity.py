"""`foja audit` and `foja fsck`: exit code 0 if nothing is found, else 1; and `foja rebuild`, which mends."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from foja.engine.observe.audit import audit as run_audit
from foja.engine.observe.findings import MAX_SHOWN, CheckReport
from foja.engine.observe.fsck import Outside
from foja.engine.observe.fsck import fsck as run_fsck
from foja.interfaces.cli.installation import (
    open_database,
    open_installation,
    open_object_store,
    read_settings,
    read_verifiers,
)
from foja.interfaces.cli.log.verify import read_checkpoint
from foja.interfaces.cli.output import print_result, progress_bar

if TYPE_CHECKING:
    from foja.app import App


async def audit(arguments: Namespace) -> int:
    """Run the audit queries and print the report."""
    settings = read_settings(arguments)
    limits = {name: getattr(settings, name) for name in ("max_lag_seconds", "clock_tolerance_seconds")}
    async with open_database(arguments) as url:
        report = await run_audit(url, **limits, most=_most(arguments))
    print_result(arguments, report.document(), *_lines(report))
    return 0 if report.clean else 1


async def fsck(arguments: Namespace) -> int:
    """Derive everything again from the rows and print the report."""
    trusted_checkpoint = (
        read_checkpoint(arguments.checkpoint, "--checkpoint") if arguments.checkpoint else None
    )
    async with open_database(arguments) as url:
        keys = await read_verifiers(arguments, url)
        outside = Outside(open_object_store(arguments), keys, trusted_checkpoint)
        with progress_bar("checking") as bar:
            report = await run_fsck(url, outside, tiles=arguments.tiles, progress=bar, most=_most(arguments))
    print_result(arguments, report.document(), *_lines(report))
    return 0 if report.clean else 1


async def rebuild(arguments: Namespace) -> int:
    """Write again what follows from events, and queue jobs that are gone."""
    async with open_installation(arguments) as app:
        return await print_rebuilt(app, arguments)


async def print_rebuilt(app: App, arguments: Namespace) -> int:
    """Rebuild, and print what was wrong."""
    rebuilt = await app.rebuild()
    lines = [f"{rebuilt.documents:,} documents; {rebuilt.mended:,} list entries were wrong or missing"]
    if rebuilt.guards:
        lines.append(f"the attempts of {rebuilt.guards:,} documents did not match their events")
    if rebuilt.galleries:
        lines.append(f"{rebuilt.galleries:,} galleries; {rebuilt.mended_galleries:,} were wrong")
    if rebuilt.deliveries:
        lines.append(f"{rebuilt.deliveries:,} deliveries of webhooks waited without a job")
    print_result(arguments, asdict(rebuilt), *lines)
    return 0


def _most(arguments: Namespace) -> int:
    """Return how many findings are shown: a person reads the first, a program all."""
    return sys.maxsize if arguments.json else MAX_SHOWN


def _lines(report: CheckReport) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in report.counts.items())
    if report.first is None:
        yield f"clean: {counts}"
        return
    yield f"first: {report.first.where}"
    yield from (f"  {finding}" for finding in report.findings)
    if report.total > len(report.findings):
        yield f"  … and {report.total - len(report.findings):,} more"
    yield f"{report.total:,} found in {counts}"
