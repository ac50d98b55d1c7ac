"""The pure part of images: kinds, order, formats, limits, variants."""
