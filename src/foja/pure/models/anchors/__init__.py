"""The pure part of anchors: what callers see of them."""
