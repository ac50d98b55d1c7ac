"""Bulk timestamps: many documents under one token, by evidence records (RFC 4998).

    tree = build_tree([group_hash(digest, blinding), …])       # one token over tree.root
    judge(record, digest, Terms(trusted(pem)), group=[sha256(blinding).digest()])

A record is the token and a reduced hash tree: the hashes that lead from one document to the root. Records of
other tools may have a single hash, other hash algorithms, and renewals.
"""

from foja.pure.proofs.ers.check import algorithms_of, judge, judge_strictly, members, root_of
from foja.pure.proofs.ers.record import EvidenceRecord, is_record, read_record
from foja.pure.proofs.ers.tree import HashTree, build_tree, group_hash

__all__ = [
    "EvidenceRecord",
    "HashTree",
    "algorithms_of",
    "build_tree",
    "group_hash",
    "is_record",
    "judge",
    "judge_strictly",
    "members",
    "read_record",
    "root_of",
]
