"""One document with all four kinds of proof, detached and in a bundle, and the trust that verifies them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256

from foja.pure.core.canonical import Json
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from tests.rules import blocks
from tests.rules.bundles import Scene
from tests.rules.sigstores import Instance, armour, spki
from tests.rules.stamps import HEADER, PROOF

TEXT = b"document"
REQUIRED = ("tsa", "bitcoin", "polygon", "rekor")


@dataclass(frozen=True)
class Proofs:
    """The proof files by evidence, the bundle, and the trust."""

    files: dict[str, bytes]
    bundle: bytes
    trust: Trust


def all_proofs() -> Proofs:
    """Make new keys, proofs and a bundle."""
    scene, instance, anchored = Scene(), Instance(), blocks.scene()
    instance.stamper = scene.stamper
    digest = sha256(TEXT).digest()
    files = {
        "tsa": scene.stamper.reply(digest),
        "bitcoin": PROOF,
        "polygon": anchored.anchor.encode(),
        "rekor": instance.bundle(),
    }
    more = [_confirmed(kind, data, digest.hex()) for kind, data in files.items() if kind != "tsa"]
    bundle = scene.bundle(TEXT, scene.document_events(digest, more, REQUIRED))
    policy = {"form": "foja/policy/v1", "minimum_difficulty": 0}
    trusted: list[str | bytes] = [
        json.dumps(policy),
        f"evm-block:0x{anchored.block_hash.hex()}",
        f"bitcoin-header:{HEADER.height}:{HEADER.data.hex()}",
        instance.trusted_root(),
        b64decode(armour("PUBLIC KEY", spki(instance.signer))),
        scene.stamper.root.pem,
        scene.key.verifier().vkey(),
    ]
    return Proofs(files, bundle, read(trusted))


def _confirmed(kind: str, data: bytes, witness: str) -> tuple[str, Json]:
    proof = b64encode(data).decode()
    if kind == "rekor":
        return "rekor.confirmed", {"witness_hash": witness, "proof": proof}
    return "anchor.confirmed", {"network": kind, "witness_hash": witness, "proof": proof}


def only_tsa() -> Proofs:
    """Make a document with a timestamp and nothing else."""
    made = Scene()
    digest = sha256(TEXT).digest()
    bundle = made.bundle(TEXT, made.document_events(digest))
    return Proofs({"tsa": made.stamper.reply(digest)}, bundle, made.trust)
