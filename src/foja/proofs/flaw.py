"""The exception that ends a check and becomes its finding."""

from __future__ import annotations

from foja.proofs.finding import Reason, Status


class Flaw(Exception):
    """A fault that keeps a proof from being verified. It never leaves `foja.proofs`."""

    def __init__(self, reason: Reason, detail: str, status: Status = Status.INVALID) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.status = reason, detail, status
