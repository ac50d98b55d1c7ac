"""The evidence bundle: an ASiC-E container (EN 319 162-1) with exactly one valid encoding.

`archive` writes the ZIP, and `reader` accepts only what `archive` writes. `asic` lists every file with its
digest for the outer timestamp. `manifest` describes the files. `history` holds the events of a stream, or a
conversation as a document.
"""
