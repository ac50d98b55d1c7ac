"""COSE receipts (RFC 9942): the place of an event in the log, as tools of SCITT read it.

write_receipt(signer, checkpoint, proof, subject)      # the bytes of a `.cose` file
read_receipt(data).check(entry)                        # the checkpoint that covers the entry
"""

from foja.proofs.cose.receipt import Receipt, read_receipt, write_receipt

__all__ = ["Receipt", "read_receipt", "write_receipt"]
