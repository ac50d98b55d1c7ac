"""Galleries of images: originals, their order, and the variants that are derived from them."""
