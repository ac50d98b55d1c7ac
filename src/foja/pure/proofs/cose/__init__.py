"""COSE receipts (RFC 9942): the place of an event in the log, and its growth, as tools of SCITT read them.

write_receipt(signer, checkpoint, proof, subject)      # what `.cose` files hold
write_consistency(signer, old, new, path)
read_receipt(data).check(entry or old checkpoint)      # the checkpoint that covers it
"""

from foja.pure.proofs.cose.receipt import (
    MEDIA_TYPE,
    ConsistencyReceipt,
    Receipt,
    read_receipt,
    write_consistency,
    write_receipt,
)

__all__ = [
    "MEDIA_TYPE",
    "ConsistencyReceipt",
    "Receipt",
    "read_receipt",
    "write_consistency",
    "write_receipt",
]
