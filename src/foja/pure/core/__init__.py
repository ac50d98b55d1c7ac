"""The bytes that must never change.

Two versions of Foja that disagree about anything in this folder disagree about
old proofs. Nothing here reads a clock, a disk, a socket or a random number.
"""
