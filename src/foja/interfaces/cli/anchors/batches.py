"""What `foja anchors list`, `show` and `cost` print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from foja.interfaces.cli.anchors import words
from foja.interfaces.cli.output import field_lines, table
from foja.pure.models.anchors.view import BatchPage, BatchView, CostList, CostView

HEAD = ("batch", "network", "status", "digests", "fee", "created", "remark")
COST_HEAD = ("day", "network", "batches", "digests", "fee", "not known yet, at most")
WIDTH = 60


def page(found: BatchPage, _: str) -> Iterable[str]:
    """Return a table of batches."""
    return table(HEAD, [_batch_row(each) for each in found]) if found else ["no batches match"]


def batch(found: BatchView, _: str) -> Iterable[str]:
    """Return one batch in full."""
    return field_lines(asdict(found))


def costs(found: CostList, _: str) -> Iterable[str]:
    """Return a table of what batches cost."""
    return table(COST_HEAD, [_cost_row(each) for each in found]) if found else ["no batches were made"]


def _batch_row(each: BatchView) -> tuple[object, ...]:
    at_most = "" if each.fee is not None or each.network != "polygon" else "≤ "
    fee = at_most + words.amount(each.network, each.max_fee if each.fee is None else each.fee)
    remark = words.remark(each.detail, WIDTH)
    created = each.created_at.isoformat(timespec="seconds")
    return each.id, each.network, each.status, str(each.size), fee, created, remark


def _cost_row(each: CostView) -> tuple[object, ...]:
    amounts = (words.amount(each.network, each.fee), words.amount(each.network, each.open_fee))
    return each.day.isoformat(), each.network, str(each.batches), str(each.digests), *amounts
