"""Let digests that wait for a batch be claimed together."""

from __future__ import annotations

from time import monotonic

from foja.engine.anchors.store import AnchorStore
from foja.engine.anchors.terms import AnchorTerms

COUNT_SECONDS = 5e-5  # until digests are counted again, for each that was counted


class Gatherer:
    """Lets digests be claimed together: all that wait, when one is due or there are enough of them."""

    def __init__(self, store: AnchorStore, terms: AnchorTerms) -> None:
        self._store, self._terms, self._next = store, terms, 0.0

    async def close_full(self) -> None:
        """Let what waits be claimed now, if a batch is about to be made or would be full."""
        if monotonic() >= self._next:
            waited = await self._store.close_gathering(self._terms.size, self._terms.seconds)
            self._next = monotonic() + waited * COUNT_SECONDS
