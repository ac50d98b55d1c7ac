"""The key of a monitor, and the statements that it signs about what it has seen."""

from __future__ import annotations

import contextlib
from pathlib import Path
from uuid import UUID

from foja.engine import private
from foja.engine.embedded.keys import signing_seed
from foja.engine.monitor.state import MAX_FINDINGS, State
from foja.engine.monitor.streams import Head
from foja.errors import NotCovered, Refused
from foja.pure.proofs.monitor_statement import MonitorSigner, MonitorStatement

FOLDER, KEY, NAME = "monitor", "key", "name"
UNREAD = (
    "the entries of this log are not public and were not read, so two entries of one number cannot be seen;"
    " ask its operator for FOJA_LOG_PUBLIC=entries, or for a copy of the folder of the log"
)


def own_signer(home: Path, name: str | None = None) -> MonitorSigner:
    """Return the signer of the monitor in a home. It is created if absent, with this name."""
    folder = home / FOLDER
    seed = signing_seed(folder / KEY)
    public = MonitorSigner("new", seed).verifier().public_key
    signer = MonitorSigner(name or f"foja.local/monitor/{public.hex()[:12]}", seed)
    with contextlib.suppress(FileExistsError):
        private.create_whole(folder / NAME, signer.name.encode())
    known = (folder / NAME).read_text()
    if name not in (None, known):
        raise Refused(f"the monitor in {folder} is {known}; another name needs another home")
    return MonitorSigner(known, seed)


def vouch(state: State, entity_id: UUID, signer: MonitorSigner) -> str:
    """Return the signed statement about the head of a stream, as of the last poll.

    Raise `Refused` if the log has shown a fault: nothing that it shows is vouched for any more. Nor is what
    this monitor has not seen from its beginning, or has seen with two ends.
    """
    if state.faults:
        raise Refused(f"the log has shown a fault, so nothing is vouched for: {state.faults[0].detail}")
    if state.unread:
        raise Refused(f"nothing is vouched for: {UNREAD}")
    if state.partial:
        raise Refused(
            "nothing is vouched for: the logs before the first one that was read are not known here"
        )
    replaced = [each for each in state.findings if not each.is_fault]
    if len(replaced) == MAX_FINDINGS or str(entity_id) in {each.entity_id for each in replaced}:
        raise Refused(f"{entity_id} is not vouched for: events of it were replaced after a restart")
    row = state.rows.get(entity_id.bytes)
    if row is None:
        raise NotCovered(f"the log has no entry of {entity_id} as of the last poll; poll again, then vouch")
    head = Head.decode(row)
    newest = state.logs[max(state.logs)]
    found = newest if newest.frontier.size else state.logs[head.log]
    return signer.sign(
        MonitorStatement(found.checkpoint, entity_id, head.seq + 1, head.digest, state.time).text()
    )
