"""`foja anchors list`, `show`, `cost`."""

from __future__ import annotations

from argparse import Namespace

from foja.anchors.admin import BatchView, CostView
from foja.cli.anchors import words
from foja.cli.installation import open_installation
from foja.cli.output import print_fields, print_result, table

HEAD = ("batch", "network", "status", "digests", "fee", "created", "remark")
COST_HEAD = ("day", "network", "batches", "digests", "fee", "not known yet, at most")
WIDTH = 60


async def listing(arguments: Namespace) -> int:
    """Print batches, newest first."""
    async with open_installation(arguments) as app:
        found = await app.anchors.list(
            network=arguments.network, status=arguments.status, limit=arguments.limit
        )
    lines = list(table(HEAD, [_batch_row(each) for each in found])) if found else ["no batches match"]
    print_result(arguments, [each.document() for each in found], *lines)
    return 0


async def show(arguments: Namespace) -> int:
    """Print one batch in full."""
    async with open_installation(arguments) as app:
        found = await app.anchors.show(arguments.batch)
    print_fields(arguments, found.document())
    return 0


async def cost(arguments: Namespace) -> int:
    """Print what batches cost."""
    async with open_installation(arguments) as app:
        found = await app.anchors.cost(network=arguments.network, days=arguments.days)
    lines = list(table(COST_HEAD, [_cost_row(each) for each in found])) if found else ["no batches were made"]
    print_result(arguments, [each.document() for each in found], *lines)
    return 0


def _batch_row(each: BatchView) -> tuple[object, ...]:
    at_most = "" if each.fee is not None or each.network != "polygon" else "≤ "
    fee = at_most + words.amount(each.network, each.max_fee if each.fee is None else each.fee)
    remark = words.remark(each.detail, WIDTH)
    created = each.created_at.isoformat(timespec="seconds")
    return each.id, each.network, each.status, str(each.size), fee, created, remark


def _cost_row(each: CostView) -> tuple[object, ...]:
    amounts = (words.amount(each.network, each.fee), words.amount(each.network, each.open_fee))
    return each.day.isoformat(), each.network, str(each.batches), str(each.digests), *amounts
