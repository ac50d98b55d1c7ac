"""Bitcoin by OpenTimestamps: promises of calendars, attestations, headers of our own nodes."""

from foja.engine.anchors.bitcoin.anchor import Bitcoin, BitcoinTerms

__all__ = ["Bitcoin", "BitcoinTerms"]
