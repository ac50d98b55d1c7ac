"""`foja images adopt`: take the galleries of another shop's tables."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from foja.interfaces.cli.installation import open_to_write
from foja.interfaces.cli.output import print_result, progress_bar, table

if TYPE_CHECKING:
    from foja.domains.images.adoption import Adoption

SHOWN = 100


async def adopt(arguments: Namespace) -> int:
    """Report what becomes of the tables and, with --yes, record it; 1 if a row is left out."""
    from foja.engine.driver.snapshot import open_foreign

    async with open_to_write(arguments) as app, open_foreign(arguments.source, arguments.schema) as tables:
        with progress_bar("adopting") as progress:
            report = await app.images.adopt(
                tables, dry_run=not arguments.yes, progress=progress, actor=arguments.actor
            )
    _print(arguments, report)
    return 1 if report.lost else 0


def _print(arguments: Namespace, report: Adoption) -> None:
    rows = [(each.code, each.product_id, each.image_id, each.detail) for each in report.repairs[:SHOWN]]
    lines = [
        f"{report.products:,} products with {report.images:,} images",
        *(table(("repair", "product", "image", "detail"), rows) if rows else ["nothing to repair"]),
        *_rest(report),
        f"recorded {report.adopted:,} images; {report.present:,} were recorded before"
        if not report.dry_run
        else "nothing was recorded; repeat with --yes to record it",
    ]
    body = {
        "dry_run": report.dry_run,
        "products": report.products,
        "images": report.images,
        "adopted": report.adopted,
        "present": report.present,
        "left": report.lost,
        "repairs": [asdict(repair) for repair in report.repairs],
    }
    print_result(arguments, body, *lines)


def _rest(report: Adoption) -> list[str]:
    more = len(report.repairs) - SHOWN
    return [f"and {more:,} more repairs; --json prints all"] if more > 0 else []
