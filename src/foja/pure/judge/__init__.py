"""The judge: evidence and trust in, a report out.

Imports `core` and `proofs` only. Reads no clock, disk, socket, database or random number,
so the same input, trust and time give the same report, byte by byte.
"""
