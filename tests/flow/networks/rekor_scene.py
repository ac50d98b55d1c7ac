"""A Rekor log, the keys of an installation and an authority, and what other tools say about the proofs."""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

import foja
from foja.engine.anchors.network import Batch, Confirmed, Network, Place
from foja.engine.anchors.rekor import Rekor, RekorTerms
from foja.engine.embedded.signing_keys import SigningKeys
from foja.pure.core.note import Verifier
from foja.pure.judge.report import Report
from foja.pure.proofs.rekor.batched import split_batched
from foja.pure.proofs.tsa import Terms, trusted
from tests.counterparties.npm import installed
from tests.counterparties.rekor import RekorLog, audit_path, tree_root
from tests.other_tools import SIGSTORE, agreed
from tests.rules.bundles import NOW, Stamper

AT = NOW + timedelta(hours=1)
SCRIPT = Path(__file__).parents[2] / "counterparties" / "sigstore" / "verify.cjs"
FILES = [b"document %d" % at for at in range(5)]
DIGESTS = [sha256(each).digest() for each in FILES]


@dataclass
class Scene:
    """A log, an installation's keys, and an authority."""

    log: RekorLog
    home: Path
    stamper: Stamper

    def network(self, **changes: Any) -> Rekor:
        async def stamp(digest: bytes) -> bytes:
            return self.stamper.token(digest)

        terms = RekorTerms(
            url=self.log.url,
            log=Verifier.from_vkey(self.log.vkey),
            keys=SigningKeys(self.home),
            stamp=stamp,
            timestamps=Terms(trusted(self.stamper.root.pem)),
            timeout_seconds=5,
        )
        return Rekor(replace(terms, **changes))

    def verify(self, file: bytes, proof: bytes, trust: Confirmed | None) -> Report:
        given: list[str | bytes] = [*trust.trust, self.stamper.root.pem] if trust else []
        return foja.verify(file, given, AT, proofs=[proof])


def places(digests: list[bytes]) -> tuple[bytes, list[Place]]:
    """Return the root of a batch and every place in it; of one digest, the digest itself."""
    if len(digests) == 1:
        return digests[0], [Place(digests[0], bytes(16), 0, 1, ())]
    salts = [sha256(b"salt" + each).digest()[:16] for each in digests]
    leaves = [sha256(b"\x00" + salt + each).digest() for salt, each in zip(salts, digests, strict=True)]
    size = len(digests)
    found = [
        Place(digest, salts[at], at, size, tuple(audit_path(at, leaves))) for at, digest in enumerate(digests)
    ]
    return tree_root(leaves), found


async def drafted(network: Network, digests: list[bytes]) -> Batch:
    """Draft a batch, as it is read again from a database."""
    root, _ = places(digests)
    draft = await network.draft(root, None)
    return stored(Batch(UUID(int=1), "rekor", root, len(digests), None, None, {}, NOW), draft.state)


def stored(batch: Batch, state: Mapping[str, Any]) -> Batch:
    return replace(batch, state=json.loads(json.dumps(state)))


def judge_with_sigstore(scene: Scene, batch: Batch, digests: list[bytes], proof: bytes) -> None:
    """@sigstore/verify accepts the bundle over the file, or over the bytes of the root; and no other."""
    bundle, file = proof, FILES[0]
    if len(digests) > 1:
        bundle, place = split_batched(proof)
        file = place.root_file(digests[0])
        assert sha256(file).digest() == batch.root
    document = json.loads(bundle)
    no_token, other_path, other_log = (json.loads(bundle) for _ in range(3))
    del no_token["verificationMaterial"]["timestampVerificationData"]
    entry = other_path["verificationMaterial"]["tlogEntries"][0]
    entry["inclusionProof"]["hashes"][0] = b64encode(bytes(32)).decode()
    honest = case(scene, document, file)
    cases = [
        honest,
        case(scene, document, b"another file"),
        case(scene, no_token, file),
        case(scene, other_path, file),
        {**case(scene, other_log, file), "trustedRoot": RekorLog().trusted_root(*authority(scene))},
    ]
    folder = installed("@sigstore/verify@3.1.1")
    ran = subprocess.run(
        ["node", str(SCRIPT), str(folder)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    accepted, *refused = json.loads(ran.stdout)
    assert accepted is None
    assert [each.partition(":")[0] for each in refused] == [
        "SIGNATURE_ERROR",
        "TIMESTAMP_ERROR",
        "TLOG_INCLUSION_PROOF_ERROR",
        "TLOG_INCLUSION_PROOF_ERROR",
    ]
    package = folder / "node_modules" / "@sigstore" / "verify" / "package.json"
    agreed("Sigstore bundles", SIGSTORE, json.loads(package.read_text())["version"])


def cosign_says(program: str, folder: Path, case: dict[str, Any]) -> str:
    """Return the last line of `cosign verify-blob`."""
    (folder / "bundle.json").write_text(json.dumps(case["bundle"]))
    (folder / "trusted_root.json").write_text(json.dumps(case["trustedRoot"]))
    (folder / "key.pem").write_text(case["key"])
    (folder / "file").write_bytes(b64decode(case["file"]))
    given = ["--bundle", "bundle.json", "--key", "key.pem", "--trusted-root", "trusted_root.json"]
    ran = subprocess.run(
        [program, "verify-blob", *given, "--use-signed-timestamps", "file"],
        cwd=folder,
        env={"HOME": str(folder), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return (ran.stdout + ran.stderr).strip().split("\n")[-1]


def case(scene: Scene, bundle: dict[str, Any], file: bytes) -> dict[str, Any]:
    key = SigningKeys(scene.home).current().public_pem()
    root = scene.log.trusted_root(*authority(scene))
    return {"bundle": bundle, "file": b64encode(file).decode(), "trustedRoot": root, "key": key}


def authority(scene: Scene) -> list[bytes]:
    pems = (scene.stamper.signer.pem, scene.stamper.root.pem)
    return [x509.load_pem_x509_certificate(each).public_bytes(Encoding.DER) for each in pems]
