"""What `foja anchors` prints."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator

from foja.interfaces.answers.anchors import Disabled, Enabled, Flushed
from foja.interfaces.cli.output import table
from foja.interfaces.cli.texts import words
from foja.pure.models.anchors.view import BatchPage, BatchView, CostList, CostView, NetworkList, NetworkView

NETWORKS_HEAD = ("network", "enabled", "digests waiting", "batches pending", "spent in 24 h", "remark")
HEAD = ("batch", "network", "status", "digests", "fee", "created", "remark")
COST_HEAD = ("day", "network", "batches", "digests", "fee", "not known yet, at most")
NETWORK_WIDTH, BATCH_WIDTH = 70, 60


def overview(found: NetworkList, _: Namespace) -> Iterable[str]:
    """Return a table of every network."""
    return table(NETWORKS_HEAD, [_network_row(each) for each in found])


def enabled(found: Enabled, _: Namespace) -> Iterator[str]:
    """Yield whether a network is enabled, and what is missing or was found."""
    if found.missing:
        yield f"{found.network} is not enabled: {'; '.join(found.missing)}"
    else:
        shown = words.found(found.found)
        yield f"{found.network} is enabled" + (f": {shown}" if shown else "")


def disabled(found: Disabled, _: Namespace) -> Iterator[str]:
    """Yield whether a network was enabled."""
    remark = "is disabled; attempts that are open go on" if found.changed else "was not enabled"
    yield f"{found.network} {remark}"


def flushed(found: Flushed, _: Namespace) -> Iterator[str]:
    """Yield how many digests are sent."""
    jobs = found.jobs
    yield f"{jobs} digests waited for others; a worker sends them now" if jobs else "no digest waits"


def page(found: BatchPage, _: Namespace) -> Iterable[str]:
    """Return a table of batches."""
    return table(HEAD, [_batch_row(each) for each in found], "no batches match")


def costs(found: CostList, _: Namespace) -> Iterable[str]:
    """Return a table of what batches cost."""
    return table(COST_HEAD, [_cost_row(each) for each in found], "no batches were made")


def _network_row(each: NetworkView) -> tuple[object, ...]:
    advice = f"not set up here: `foja anchors enable {each.network}` says what to set"
    remark = f"no batch is made: {each.held}" if each.held else "" if each.configured else advice
    counts, spent = (str(each.waiting), str(each.pending)), words.amount(each.network, each.spent)
    return each.network, "yes" if each.enabled else "no", *counts, spent, words.remark(remark, NETWORK_WIDTH)


def _batch_row(each: BatchView) -> tuple[object, ...]:
    at_most = "" if each.fee is not None or each.network != "polygon" else "≤ "
    fee = at_most + words.amount(each.network, each.max_fee if each.fee is None else each.fee)
    remark = words.remark(each.detail, BATCH_WIDTH)
    created = each.created_at.isoformat(timespec="seconds")
    return each.id, each.network, each.status, str(each.size), fee, created, remark


def _cost_row(each: CostView) -> tuple[object, ...]:
    amounts = (words.amount(each.network, each.fee), words.amount(each.network, each.open_fee))
    return each.day.isoformat(), each.network, str(each.batches), str(each.digests), *amounts
