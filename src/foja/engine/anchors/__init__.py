"""Anchors: one root for many digests, sent to a network once, watched until it is confirmed or cannot be."""
