"""Gauges of the log: events in all, halted, late, cosigned as the policy says."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from foja.engine import sql
from foja.engine.ledger.cosigners.configuration import Quorum
from foja.engine.metrics import COSIGNERS_FAULTY, EVENTS, LOG_HALTED, LOG_LAG, POLICY_UNMET, set_total
from foja.engine.observe.metrics.reader import Rows


class Lag(NamedTuple):
    """What waits for the log: the next event of a stream, or a leaf."""

    entity_id: UUID
    seq: int
    seconds: int
    leaf: int | None = None


async def gauge_log(database: Rows, quorum: Quorum | None = None) -> None:
    """Set the gauges of the open log from the database, as the role of the sequencer."""
    waiting = [
        *await database.rows(sql.query("audit_sealing"), Lag, limit=0),
        *await database.rows(sql.query("audit_numbering"), Lag, limit=0),
        *await database.rows(sql.query("audit_publishing"), Lag, limit=0),
    ]
    LOG_LAG.set(max((each.seconds for each in waiting), default=0))
    LOG_HALTED.set(len(await database.rows(sql.query("halted_logs"))))
    [(events, faulty)] = await database.rows(sql.query("log_totals"))
    set_total(EVENTS, events)
    COSIGNERS_FAULTY.set(faulty)
    unmet = 0.0
    if quorum:
        keys, required = list(quorum.keys), quorum.required
        [(unmet,)] = await database.rows(sql.query("cosigning_late"), keys=keys, required=required)
    POLICY_UNMET.set(unmet)
