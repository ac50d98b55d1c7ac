"""Gauges of the log: events in all, halted, late, cosigned as the policy says."""

from __future__ import annotations

from foja import sql
from foja.ledger.cosigners.configuration import Quorum
from foja.metrics import COSIGNERS_FAULTY, EVENTS, LOG_HALTED, LOG_LAG, POLICY_UNMET, set_total
from foja.observe.metrics.reader import Rows

LAGS = ("audit_sealing", "audit_numbering", "audit_publishing")  # the third column is the wait in seconds


async def gauge_log(database: Rows, quorum: Quorum | None = None) -> None:
    """Set the gauges of the open log from the database, as the role of the sequencer."""
    waits = [row[2] for name in LAGS for row in await database.rows(sql.query(name), grace=0, limit=0)]
    LOG_LAG.set(max(waits, default=0))
    LOG_HALTED.set(len(await database.rows(sql.query("halted_logs"))))
    [(events, faulty)] = await database.rows(sql.query("log_totals"))
    set_total(EVENTS, events)
    COSIGNERS_FAULTY.set(faulty)
    unmet = 0.0
    if quorum:
        keys, required = list(quorum.keys), quorum.required
        [(unmet,)] = await database.rows(sql.query("cosigning_late"), keys=keys, required=required)
    POLICY_UNMET.set(unmet)
