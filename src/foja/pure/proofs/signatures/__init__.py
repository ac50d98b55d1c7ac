"""Signatures over a document, by its SHA-256 digest: detached CMS, JWS, or raw. Checked offline.

    checked = check(Signature("cms", data), witness, at)
    checked.finding.status, checked.signer.name

`check` shows that a key signed the digest; `judge` also that you trust this key. No input makes them raise.
"""

from foja.pure.proofs.signatures.check import Checked, SignerTerms, check, judge
from foja.pure.proofs.signatures.signer import FORMATS, Signature, Signer

__all__ = ["FORMATS", "Checked", "Signature", "Signer", "SignerTerms", "check", "judge"]
