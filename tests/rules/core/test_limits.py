"""Every limit of the judge, at its edge: the last size that is read, and the first that is refused.

The table in docs/verify.md lists the same limits with the same values.
"""

from __future__ import annotations

import io
import json
import re
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

import foja
from foja.errors import FojaError
from foja.pure.core import canonical, note, serializer
from foja.pure.core import proof as log_proof
from foja.pure.core.bundle import archive, asic, history, manifest, names, proof_file, reader
from foja.pure.core.bundle.archive import part, write
from foja.pure.core.bundle.evidence_record import MAX_LISTS, encode
from foja.pure.judge import detached, trust_parser
from foja.pure.judge import history as judged_history
from foja.pure.judge import proof as judged_proof
from foja.pure.judge.container import files
from foja.pure.judge.container.signatures import check_signatures
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.trust import Trust
from foja.pure.models.documents import signatures
from foja.pure.models.documents.events import Fact
from foja.pure.proofs import batch, budget, der, ers, evm, finding
from foja.pure.proofs.cose import receipt
from foja.pure.proofs.der import DerReader, element, integer, oid, sequence, tagged
from foja.pure.proofs.ers import record
from foja.pure.proofs.evm import anchor, rlp, trie
from foja.pure.proofs.finding import Finding, Flaw, Status
from foja.pure.proofs.ots import stamp
from foja.pure.proofs.rekor import bundle as sigstore
from foja.pure.proofs.signatures import Signature, check, jws
from foja.pure.proofs.signatures import signer as document_signer
from foja.pure.proofs.tsa import Terms, certificate, chain, cms, judge, revocation, signature, token, trusted
from foja.pure.proofs.tsa.oids import IDENTIFIERS
from tests.rules import blocks, sigstores
from tests.rules.authorities import Certified, Recipe, certify, reply, root, rsa_key, signer
from tests.rules.bundles import NOW, Scene
from tests.rules.stamps import DIGEST

PAGE = Path(__file__).parents[3] / "docs" / "verify.md"
SCENE, ROOT, INSTANCE, ANCHOR = Scene(), root(), sigstores.Instance(), blocks.scene().anchor
SIGNER = signer(ROOT)
FIRST = [bytes(32), b"\x01" * 32]
ATTESTED = b"\x00" + stamp.BITCOIN + b"\x01\x64"


@dataclass(frozen=True)
class Limit:
    """A value, how to judge an input of a size, and what the refusal says beyond the value."""

    value: int
    judge: Callable[[int], object]
    says: str


def text_of(attempt: Callable[[], object]) -> str:
    """Return what was refused, or the text of what was found."""
    try:
        found = attempt()
    except (FojaError, Flaw) as refusal:
        return str(refusal)
    return found.detail if isinstance(found, Finding) else repr(found)[:200]


def loose(kind: str, data: bytes) -> Finding:
    return check_proof(data, ProofRequest(DIGEST, Trust(), NOW), kind=kind)


def stamped(recipe: Recipe, *roots: Certified) -> Finding:
    return judge(reply(recipe), DIGEST, Terms(trusted(*(each.der for each in roots or (ROOT,))))).finding


def zip_of(*names_: str) -> io.BytesIO:
    return io.BytesIO(b"".join(write([part(name, b"") for name in names_])))


def directory_of(size: int) -> io.BytesIO:
    """Return a container that claims a directory of this size."""
    end = archive.END_FIELDS.pack(archive.END, 0, 0, 1, 1, size, 0, 0)
    return io.BytesIO(bytes(4) + end)


def content_of(size: int) -> bytes:
    parts = [part(names.MIMETYPE, names.MEDIA_TYPE), part("document/a", bytes(size))]
    return reader.open_container(io.BytesIO(b"".join(write(parts)))).read("document/a")


def listed(count: int) -> object:
    seals = [
        name
        for number in range(count)
        for name in (names.renewed_names(number) if number else names.seal_names(0))
    ]
    parts = [part(names.MIMETYPE, names.MEDIA_TYPE), *(part(name, b"") for name in seals)]
    return files.open_files(io.BytesIO(b"".join(write(parts))))


def required(count: int) -> object:
    document = json.loads(SCENE.contents().manifest.encode())
    return manifest.decode(canonical.canonical({**document, "required_evidence": ["tsa"] * count}))


def stamped_again(count: int) -> object:
    """Return an evidence record with this many timestamps."""
    stamps = sequence(element(tagged(0), DerReader(IDENTIFIERS["sha256"]).take(0x30)), sequence(oid("1.2")))
    return record.read_record(
        sequence(integer(1), sequence(IDENTIFIERS["sha256"]), sequence(sequence(stamps * count)))
    )


def signed_note(count: int) -> object:
    line = SCENE.key.sign("a\n").split("\n")[-2] + "\n"
    return note.split_note("a\n\n" + line * count)


def ots(*operations: bytes) -> Finding:
    return loose("bitcoin", stamp.MAGIC + b"\x01\x08" + DIGEST + b"".join(operations) + ATTESTED)


def varint(number: int) -> bytes:
    digits = b""
    while number > 0x7F:
        digits, number = digits + bytes((number & 0x7F | 0x80,)), number >> 7
    return digits + bytes((number,))


def attested(tag: bytes, payload: bytes) -> Finding:
    whole = b"\xff\x00" + tag + varint(len(payload)) + payload
    return ots(whole)


def evm_proof(**changes: Any) -> object:
    return anchor.parse_anchor(canonical.canonical({**json.loads(ANCHOR.encode()), **changes}))


def nested_rlp(depth: int) -> object:
    item: Any = b""
    for _ in range(depth):
        item = [item]
    return rlp.decode(rlp.encode(item))


def sigstore_with(change: Callable[[dict[str, Any]], object]) -> object:
    document = json.loads(INSTANCE.bundle())
    change(document["verificationMaterial"])
    if "x509CertificateChain" in document["verificationMaterial"]:
        document["mediaType"] = f"{sigstore.MEDIA}+json;version=0.1"
    return sigstore.parse_bundle(json.dumps(document).encode())


def many_tokens(count: int) -> object:
    tokens = [{"signedTimestamp": b64encode(b"x").decode()}] * count
    changed = {"timestampVerificationData": {"rfc3161Timestamps": tokens}}
    return sigstore_with(lambda material: material.update(changed))


def many_hashes(count: int) -> object:
    def change(material: dict[str, Any]) -> None:
        material["tlogEntries"][0]["inclusionProof"]["hashes"] = [b64encode(bytes(32)).decode()] * count

    return sigstore_with(change)


def batch_path(count: int) -> object:
    hashes: Any = ["0x" + "00" * 32] * count
    return batch.parse_place({"size": 2, "index": 0, "salt": "0x" + "00" * 16, "path": hashes}, "the batch")


def many_issuers(count: int) -> object:
    def change(material: dict[str, Any]) -> None:
        del material["publicKey"]
        one = {"rawBytes": b64encode(b"x").decode()}
        material["x509CertificateChain"] = {"certificates": [one] * count}

    return sigstore_with(change)


def many_subjects(count: int) -> object:
    statement = json.dumps({"subject": [{"digest": {"sha256": "00"}}] * count}).encode()
    return sigstore.Envelope("application/vnd.in-toto+json", statement).is_about(b"")


def long_chain(count: int) -> Finding:
    """Judge a token whose chain has this many certificates."""
    line = [ROOT]
    for number in range(count - 2):
        line.append(certify(f"Middle {number}", line[-1], ca=True))
    low = signer(line[-1])
    return stamped(Recipe(low, DIGEST, embedded=[low, *line[1:]]))


def many_attributes(count: int) -> object:
    each = [sequence(oid(f"1.2.3.{number}"), element(der.SET, integer(1))) for number in range(count)]
    return cms._attributes(DerReader(b"".join(each)))


def many_lists(count: int) -> object:
    return cms._revocations(DerReader(sequence() * count))


def many_certificates(count: int) -> object:
    return cms._certificates(DerReader(element(tagged(0), sequence() * count)))


def many_identifiers(count: int) -> Finding:
    return stamped(Recipe(SIGNER, DIGEST, also_identified=[ROOT] * (count - 1)))


def many_steps(count: int) -> object:
    search, issuer = chain._Search([], [], NOW, chain.TIMESTAMPS), certificate.certificate(ROOT.der)
    allowed = [search._may_issue(issuer, (issuer,)) for _ in range(count)]
    return search._flaw or allowed


def signed_by(form: str, value: bytes, key: bytes | None = None) -> Finding:
    return check(Signature(form, value, key), DIGEST, NOW).finding


def many_signatures(count: int) -> object:
    facts = [Fact(number, "document.signed", NOW, {}) for number in range(count)]
    return [*check_signatures(facts, ProofRequest(DIGEST, Trust(), NOW))][-1]


def spent(units: int) -> object:
    budget.Budget().spend(units)
    return "spent"


def long_text(size: int) -> object:
    return Finding("tsa", Status.INVALID, detail="x" * size).detail[-1]


LIMITS: dict[str, Limit] = {
    "JSON: bytes of a text": Limit(
        canonical.MAX_BYTES, lambda n: canonical.parse(b'"' + b"a" * (n - 2) + b'"'), "over 4,194,304"
    ),
    "JSON: keys of an object": Limit(
        canonical.MAX_KEYS,
        lambda n: len(str(canonical.parse("{" + ",".join(f'"{each:x}":0' for each in range(n)) + "}"))),
        "keys, over",
    ),
    "JSON: nested containers": Limit(
        serializer.MAX_DEPTH, lambda n: canonical.canonical(json.loads("[" * n + "]" * n)), "nested"
    ),
    "COSE receipt: bytes": Limit(
        receipt.MAX_BYTES, lambda n: receipt.read_receipt(b"\xd2\x84" + bytes(n - 2)), "of at most 16,384"
    ),
    "proofs beside a file": Limit(
        detached.MAX_PROOFS,
        lambda n: foja.verify(b"x", proofs=[b"?"] * n).evidence[-1],
        "only the first 256 proofs",
    ),
    "event: bytes": Limit(
        judged_history.LARGEST_EVENT,
        lambda n: judged_history.check_event(b"x" * n, b"", Trust())[0],
        "larger than any event",
    ),
    "history: bytes of a line": Limit(
        history.LONGEST_LINE, lambda n: list(history.split([b"x" * n + b"\n"])), "is longer than"
    ),
    "manifest: bytes": Limit(manifest.MAX_BYTES, lambda n: manifest.decode(b" " * n), "are read"),
    "manifest: proofs": Limit(manifest.MAX_PROOFS, required, "more than 256 entries"),
    "bundle: bytes of a list of files": Limit(asic.MAX_BYTES, lambda n: asic.decode(b"x" * n), "are read"),
    "bundle: lists of files, renewals included": Limit(files.MAX_SEALS, listed, "more than 100 lists"),
    "bundle: files": Limit(
        reader.MAX_ENTRIES,
        lambda n: reader.open_container(zip_of(*(f"a/{each}" for each in range(n)))),
        "over the limit",
    ),
    "bundle: bytes of the directory": Limit(
        reader.LONGEST_DIRECTORY, lambda n: reader.open_container(directory_of(n)), "over the limit"
    ),
    "bundle: bytes of a file that is not the document or a history": Limit(
        reader.SMALL, content_of, "are read"
    ),
    "bundle: bytes of a file name": Limit(
        names.LONGEST_NAME, lambda n: names.check_name("a" * n), "not a valid file name"
    ),
    "proof file: bytes": Limit(
        proof_file.MAX_BYTES, lambda n: proof_file.decode(io.BytesIO(b"x" * n)), "a proof has at most"
    ),
    "log proof: characters": Limit(
        log_proof.MAX_BYTES, lambda n: log_proof.parse_proof("x" * n), "over 131,072 characters"
    ),
    "log proof: hashes": Limit(
        log_proof.MAX_HASHES,
        lambda n: log_proof.parse_proof(f"{log_proof.HEADER}\nindex 0\n" + "AAAA\n" * n + "\n"),
        "more than 64 hashes",
    ),
    "checkpoint: signatures": Limit(note.MAX_SIGNATURES, signed_note, "not a signed note"),
    "DER: bytes of a number": Limit(
        der.LONGEST_INTEGER, lambda n: DerReader(element(der.INTEGER, b"\x01" * n)).integer(), "too long"
    ),
    "DER: bytes of an object identifier": Limit(
        der.LONGEST_OID, lambda n: DerReader(element(der.OID, b"\x01" * n)).oid(), "too long"
    ),
    "token: bytes": Limit(token.MAX_BYTES, lambda n: token.read_token(bytes(n)), "are read"),
    "token: certificates": Limit(cms.MAX_CERTIFICATES, many_certificates, "more than 16 certificates"),
    "token: revocation lists and OCSP responses": Limit(
        cms.MAX_REVOCATIONS, many_lists, "more than 16 lists"
    ),
    "token: signed attributes": Limit(cms.MAX_ATTRIBUTES, many_attributes, "too many attributes"),
    "token: certificates that its signer names": Limit(
        signature.MAX_IDENTIFIERS, many_identifiers, "holds more than expected"
    ),
    "token: certificates of a chain": Limit(chain.MAX_CHAIN, long_chain, "its chain is longer than"),
    "token: steps to find a chain": Limit(chain.MAX_STEPS, many_steps, "too complex"),
    "evidence record: bytes": Limit(
        record.MAX_BYTES, lambda n: ers.judge(bytes(n), DIGEST, Terms(())).finding, "are read"
    ),
    "evidence record: timestamps": Limit(
        record.MAX_STAMPS,
        stamped_again,
        "more than 32 timestamps",
    ),
    "evidence record: lists of hashes": Limit(
        MAX_LISTS,
        lambda n: record.read_record(encode([FIRST, *[FIRST[:1]] * (n - 1)], sequence(oid("1.2")))),
        "more than 64 lists",
    ),
    "evidence record: hashes of a list": Limit(
        record.MAX_HASHES,
        lambda n: record.read_record(
            encode([[each.to_bytes(32) for each in range(1, n + 1)]], sequence(oid("1.2")))
        ),
        "more than 1024 hashes",
    ),
    "certificate: bytes": Limit(
        certificate.MAX_BYTES, lambda n: certificate.certificate(bytes(n)), "at most 16,384"
    ),
    "certificate: bits of an RSA key": Limit(
        certificate.LARGEST_RSA, lambda n: certificate._is_short(FakeRsa.of(n)) and "short", "short"
    ),
    "certificate: bits of the exponent of an RSA key": Limit(
        certificate.EXPONENT_BITS,
        lambda n: certificate._is_short(FakeRsa.of(2048, (1 << n - 1) | 1)) and "short",
        "short",
    ),
    "signature: bytes": Limit(
        document_signer.MAX_BYTES, lambda n: signed_by("cms", bytes(n)), "at most 262,144 are read"
    ),
    "signature: bytes of a JWS": Limit(
        jws.MAX_BYTES, lambda n: signed_by("jws", bytes(n)), "at most 65,536 are read"
    ),
    "signature: bytes of its key": Limit(
        document_signer.MAX_KEY_BYTES, lambda n: signed_by("raw", b"", bytes(n)), "at most 16,384 are read"
    ),
    "signature: signatures that are checked": Limit(signatures.MAX_SIGNATURES, many_signatures, "1 more"),
    "revocation list: bytes": Limit(
        revocation.MAX_BYTES, lambda n: trust_parser._add_der({}, "X509 CRL", bytes(n)), "leave it out"
    ),
    "OpenTimestamps: bytes": Limit(stamp.MAX_BYTES, lambda n: loose("bitcoin", bytes(n)), "larger than any"),
    "OpenTimestamps: operations, 64 bytes of message are one more, a slow hash five": Limit(
        stamp.MAX_WORK, lambda n: ots(b"\x08" * (n - 1)), "takes more than"
    ),
    "OpenTimestamps: forks of a path": Limit(
        stamp.MAX_FORKS,
        lambda n: ots(b"\xff\x08" * n + (b"\x00" + stamp.BITCOIN + b"\x01\x64") * n),
        "forks more",
    ),
    "OpenTimestamps: bytes of a message": Limit(
        stamp.MAX_MESSAGE, lambda n: ots(b"\xf0" + varint(n - 32) + bytes(n - 32)), "message in an .ots"
    ),
    "OpenTimestamps: bytes of an attestation": Limit(
        stamp.MAX_PAYLOAD, lambda n: attested(bytes(8), bytes(n)), "are allowed"
    ),
    "OpenTimestamps: bytes of a calendar's address": Limit(
        stamp.MAX_ADDRESS, lambda n: attested(stamp.PENDING, varint(n) + b"a" * n), "are allowed"
    ),
    "EVM: bytes": Limit(anchor.MAX_BYTES, lambda n: loose("evm", bytes(n)), "larger than any"),
    "EVM: items of a list": Limit(
        anchor.MAX_ITEMS, lambda n: evm_proof(tx_proof=["0x"] * n), "at most 64 items"
    ),
    "EVM: position of the transaction": Limit(
        anchor.MAX_INDEX, lambda n: evm_proof(tx_index=n), "from 0 to 1000000"
    ),
    "EVM: nodes of a trie's proof": Limit(
        trie.MAX_NODES, lambda n: trie.value_at(bytes(32), b"", [b""] * n), "more than 32 nodes"
    ),
    "EVM: nested RLP lists": Limit(rlp.MAX_DEPTH, nested_rlp, "nested too deep"),
    "EVM: fields of a header": Limit(
        evm.MAX_FIELDS, lambda n: evm.parse_header(rlp.encode([b""] * n)), "fields, not"
    ),
    "Sigstore: bytes": Limit(sigstore.MAX_BYTES, lambda n: loose("rekor", bytes(n)), "larger than any"),
    "Sigstore: timestamps": Limit(sigstore.MAX_TOKENS, many_tokens, "a list of at most 8"),
    "Sigstore: hashes of an inclusion proof": Limit(sigstore.MAX_HASHES, many_hashes, "a list of at most 64"),
    "Sigstore: certificates of a chain": Limit(sigstore.MAX_ISSUERS, many_issuers, "a list of at most 10"),
    "Sigstore: subjects of a statement": Limit(
        sigstore.MAX_SUBJECTS, many_subjects, "a list of at most 10000"
    ),
    "batch beside a Sigstore bundle: hashes of the path": Limit(
        batch.MAX_PATH, batch_path, "a list of at most 64"
    ),
    "proof of another kind: bytes": Limit(
        judged_proof.MAX_BYTES, lambda n: loose("unknown", bytes(n)), "larger than any"
    ),
    "trust: characters of an item": Limit(
        trust_parser.MAX_BYTES, lambda n: trust_parser.read([" " * n]), "give only the roots"
    ),
    "all proofs of one input: public-key operations; a slow curve counts 2 or 3": Limit(
        budget.MAX_COST, spent, "cost more than"
    ),
    "report: characters of a text": Limit(finding.MAX_TEXT, long_text, "…"),
}


class FakeRsa:
    """An RSA key of any size: generating a real one would take minutes."""

    @staticmethod
    def of(bits: int, exponent: int = 65537) -> Any:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

        return RSAPublicNumbers(exponent, (1 << bits - 1) | 1).public_key()


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_holds_at_its_edge(name: str) -> None:
    """The last size that is read is read, and one more is refused, with the reason."""
    limit = LIMITS[name]
    at, beyond = (text_of(partial(limit.judge, size)) for size in (limit.value, limit.value + 1))
    assert limit.says not in at
    assert limit.says in beyond


def test_the_page_lists_every_limit_with_its_value() -> None:
    """One table of limits, and a test for each row."""
    section = PAGE.read_text(encoding="utf-8").partition("## Limits")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|`]+?) \| ([0-9,]+) \|", section, re.MULTILINE)
    assert {name: int(value.replace(",", "")) for name, value in rows} == {
        name: limit.value for name, limit in LIMITS.items()
    }


def test_an_object_of_many_keys_costs_linear_time() -> None:
    """One duplicate among 60,000 keys is found at once, and named."""
    keys = [f'"{each:x}":0' for each in range(60_000)]
    began = time.process_time()
    with pytest.raises(FojaError, match="occurs twice"):
        canonical.parse("{" + ",".join([*keys, keys[0]]) + "}")
    assert time.process_time() - began < 5  # it was 17 seconds


def test_a_short_curve_is_weak() -> None:
    assert certificate._is_short(ec.generate_private_key(ec.SECP192R1()).public_key())
    assert not certificate._is_short(ec.generate_private_key(ec.SECP224R1()).public_key())
    assert not certificate._is_short(rsa_key().public_key())
    assert certificate._is_short(rsa_key(1024).public_key())
