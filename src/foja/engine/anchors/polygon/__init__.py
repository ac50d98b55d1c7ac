"""Polygon: a root in the calldata of a transaction to ourselves, confirmed in a final block.

`network` decides, `nodes` asks, `signers` signs, `state` is what a batch stores, `fees` is arithmetic,
`inclusion` builds the proof.
"""

from foja.engine.anchors.polygon.network import Polygon
from foja.engine.anchors.polygon.terms import PolygonTerms

__all__ = ["Polygon", "PolygonTerms"]
