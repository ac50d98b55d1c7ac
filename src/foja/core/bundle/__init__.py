"""The bundle of evidence: an ASiC-E container (EN 319 162-1) of which one document has one spelling.

`archive` writes the ZIP and `reading` takes nothing but what `archive` writes; `asic` lists every file by
digest for the outer timestamp; `manifest` says what the files are; `history` is the stream they stand in;
`transcript` is what a conversation looks like as a document.
"""
