"""Bitcoin by OpenTimestamps: promises of calendars, attestations, headers of our own nodes."""

from foja.anchors.bitcoin.anchor import Bitcoin, BitcoinTerms

__all__ = ["Bitcoin", "BitcoinTerms"]
