"""Fees of a transaction and of its replacement, below the cap, and what was paid.

Fees are in wei per unit of gas; what was paid is in wei.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foja.engine.anchors.polygon.terms import GWEI, PolygonTerms
from foja.errors import Unavailable
from foja.pure.proofs.evm.eip1559 import ANCHOR_GAS

MOST_SUGGESTED = 10  # times the setting: the highest suggestion of a node that is followed
LEAST_GAS = 21_000  # of any transaction


@dataclass(frozen=True, slots=True)
class Fees:
    """The two fees of a transaction (EIP-1559)."""

    max_fee: int
    priority_fee: int


def first_fees(terms: PolygonTerms, base_fee: int, suggested: int) -> Fees:
    """Return the fees of a new transaction: room for a doubled base fee, if the cap allows it.

    Raise `Unavailable` if a block would not take it now below the cap.
    """
    followed = min(suggested, MOST_SUGGESTED * terms.priority_fee)
    priority = min(max(terms.priority_fee, followed), terms.max_fee)
    if base_fee + terms.priority_fee > terms.max_fee:
        raise Unavailable(
            f"the base fee of Polygon is {base_fee / GWEI:g} gwei, and with a priority fee of "
            f"{terms.priority_fee_gwei:g} gwei over the cap of {terms.max_fee_gwei:g}; "
            "wait, or raise FOJA_POLYGON_MAX_FEE_GWEI"
        )
    return Fees(min(2 * base_fee + priority, terms.max_fee), priority)


def replacement_fees(terms: PolygonTerms, old: Fees, base_fee: int) -> Fees | None:
    """Return both fees raised by 12.5 %, the first as often as the base fee needs, or None above the cap.

    Nodes refuse a replacement below +10 % on both. In such steps two hosts mostly sign the same bytes.
    """
    max_fee, priority = _raised(old.max_fee), _raised(old.priority_fee)
    while max_fee < base_fee + priority:
        max_fee = _raised(max_fee)
    return Fees(max_fee, priority) if max_fee <= terms.max_fee else None


def proven_fee(fees: Fees, base_fee: int | None, shown: Sequence[int]) -> int:
    """Return what receipts show as paid, if all show the same and it is possible; else the most it can be.

    The price of gas follows from the transaction and the base fee of its block, which are proven. The gas
    that was used is not proven: it is between that of any transaction and the limit.
    """
    price = fees.max_fee if base_fee is None else min(fees.max_fee, base_fee + fees.priority_fee)
    [paid, *others] = {*shown}
    if others or not LEAST_GAS * price <= paid <= ANCHOR_GAS * price:
        return ANCHOR_GAS * price
    return paid


def _raised(fee: int) -> int:
    return max(-(-fee * 9 // 8), fee + 1)
