"""Rekor: a signature of a root in a transparency log, with the proof that the log has it."""

from foja.engine.anchors.rekor.network import Rekor, RekorTerms

__all__ = ["Rekor", "RekorTerms"]
