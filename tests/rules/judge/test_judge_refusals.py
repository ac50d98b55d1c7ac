"""What strangers found in the judge: each input gets a report with its own reason."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa

import foja
from foja.errors import Malformed, Tampered
from foja.pure.core.bundle import archive, assembly
from foja.pure.core.bundle.archive import measured, part, write
from foja.pure.core.bundle.reader import open_container
from foja.pure.core.canonical import Json
from foja.pure.core.event import FIRST, LAST, from_seconds, is_in_calendar
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.core.proof import Proof, parse_proof
from foja.pure.judge import proof as judge_proof
from foja.pure.judge.report import Report
from foja.pure.proofs.der import BOOLEAN, SEQUENCE, TIME, DerReader, element, integer, sequence
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.tsa import Terms, judge, trusted
from tests.rules import sigstores
from tests.rules.authorities import DAY, NOW, Recipe, certify, reply, root, signer
from tests.rules.bundles import ENTITY, Scene
from tests.rules.bundles import NOW as SEALED
from tests.rules.proofs.test_tsa_revocation import crl
from tests.rules.stamps import DIGEST
from tests.rules.streams import stream

SCENE = Scene()
LATER = SEALED + timedelta(hours=1)
ROOT = root()


def token_at(digest: bytes, at: datetime) -> bytes:
    """Return a bare token of any time, valid or not."""
    answer = DerReader(SCENE.stamper.reply(digest, at)).into(SEQUENCE)
    answer.take(SEQUENCE)
    return answer.whole(SEQUENCE)


# Dates


@pytest.mark.parametrize("year", [1969, 9000, 9999])
def test_a_renewal_with_a_time_beyond_the_calendar_is_malformed(year: int) -> None:
    """The time of a token is bounded, so nothing that is added to it overflows."""
    parts = SCENE.contents().parts()
    sealed = assembly.seal(parts, token_at(sha256(assembly.listing(parts)).digest(), SEALED))
    listed = sha256(assembly.listing(sealed, 1)).digest()
    token = token_at(listed, datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC))
    bundle = b"".join(write(assembly.seal(sealed, token, 1)))
    report = foja.verify(bundle, SCENE.trust, LATER)
    seals = [each for each in report.evidence if each.evidence == "seal"]
    assert (seals[-1].status, seals[-1].reason) == (Status.INVALID, Reason.MALFORMED)
    assert "a time in it" in seals[-1].detail


def test_times_are_judged_from_1970_to_9000() -> None:
    """The first and the last moment of the calendar, and those beyond."""
    second = timedelta(seconds=1)
    assert [is_in_calendar(each) for each in (FIRST, LAST - second, FIRST - second, LAST)] == [
        True,
        True,
        False,
        False,
    ]
    assert from_seconds(0) == FIRST
    assert from_seconds(int(LAST.timestamp()) - 1) == LAST - second
    assert from_seconds(-1) is from_seconds(int(LAST.timestamp())) is from_seconds(10**30) is None
    assert DerReader(element(TIME, b"89991231235959Z")).time() == LAST - second
    with pytest.raises(Malformed):
        DerReader(element(TIME, b"90000101000000Z")).time()


def test_the_worst_accuracy_at_the_last_moment_stays_in_the_calendar() -> None:
    """Time and accuracy are both bounded."""
    late = root("Late", ends=datetime(9998, 1, 1, tzinfo=UTC))
    certified = signer(late, ends=datetime(9998, 1, 1, tzinfo=UTC))
    made = Recipe(
        certified,
        DIGEST,
        gen_time=datetime(8999, 12, 31, 23, 59, 59, tzinfo=UTC),
        accuracy=sequence(integer((1 << 31) - 1)),
    )
    assert judge(reply(made), DIGEST, Terms(trusted(late.der))).verified


# Every input gets a report


@pytest.mark.parametrize("field", ["logIndex", "integratedTime"])
@pytest.mark.parametrize("value", [str(10**18), str(2**53), "9" * 400])
def test_a_number_beyond_any_log_gets_a_report(field: str, value: str) -> None:
    """A number that has no canonical form is malformed, not an exception."""
    instance = sigstores.Instance()
    document = json.loads(instance.bundle(version=1))
    document["verificationMaterial"]["tlogEntries"][0][field] = value
    report = foja.verify(
        b"document", [instance.trusted_root()], LATER, proofs=[json.dumps(document).encode()]
    )
    [found] = report.evidence
    assert (found.evidence, found.status, found.reason) == ("rekor", Status.INVALID, Reason.MALFORMED)


@pytest.mark.parametrize("error", judge_proof.UNEXPECTED)
def test_a_fault_of_the_judge_is_reported(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a check raises, there is a report, and it verifies nothing."""

    def fail(*_: object) -> Finding:
        raise error("fault")

    monkeypatch.setitem(judge_proof._CHECKS, "tsa", fail)
    [found] = foja.verify(b"x", SCENE.trust, LATER, proofs=[SCENE.stamper.reply(DIGEST)]).evidence
    assert (found.status, found.reason) == (Status.UNSUPPORTED, Reason.NOT_JUDGED)
    monkeypatch.setattr("foja.pure.judge.container.bundle.open_files", fail)
    report = foja.verify(SCENE.bundle(), SCENE.trust, LATER)
    assert [each.reason for each in report.evidence] == [Reason.NOT_JUDGED]
    assert report.verdict == "INDETERMINATE"


# What openssl refuses


def refused(made: Recipe, *roots: Any, **terms: Any) -> tuple[Status, Reason | None]:
    trust = trusted(*(each.der for each in roots or (ROOT,)))
    found = judge(reply(made), DIGEST, Terms(trust, **terms)).finding
    return found.status, found.reason


def test_an_issuer_that_constrains_names_is_not_supported() -> None:
    """Constraints on names hold even if they are not marked critical."""
    names = x509.NameConstraints([x509.DNSName("example.org")], None)
    for critical in (True, False):
        limited = certify("Limited", ROOT, ca=True, more=names, more_critical=critical)
        low = signer(limited)
        found = refused(Recipe(low, DIGEST, embedded=[low, limited]))
        assert found == (Status.UNSUPPORTED, Reason.NAME_CONSTRAINTS)


@pytest.mark.parametrize("usage", ["key_encipherment", "key_cert_sign", "crl_sign", "data_encipherment"])
def test_the_key_of_an_authority_is_for_signing_data_alone(usage: str) -> None:
    """A key that may also be used for something else is refused."""
    low = signer(ROOT, usage=f"digital_signature {usage}")
    assert refused(Recipe(low, DIGEST)) == (Status.INVALID, Reason.KEY_USAGE_INVALID)
    assert refused(Recipe(signer(ROOT, usage="digital_signature content_commitment"), DIGEST))[1] is None


@pytest.mark.parametrize("by", ["sha1", "sha256"])
def test_every_certificate_that_the_signer_names_is_in_its_chain(by: str) -> None:
    """A second ESSCertID may name an issuer, but not a stranger."""
    low = signer(ROOT)
    assert refused(Recipe(low, DIGEST, identified_by=by, also_identified=[ROOT]))[1] is None
    stranger = Recipe(low, DIGEST, identified_by=by, also_identified=[root("Stranger")])
    assert refused(stranger) == (Status.INVALID, Reason.ESS_CERT_ID_MISMATCH)


def test_the_name_in_the_token_is_that_of_its_signer() -> None:
    """The field `tsa` may not name another authority."""
    low = signer(
        ROOT, more=x509.SubjectAlternativeName([x509.DNSName("tsa.example.org")]), more_critical=False
    )
    for name in (directory("Test TSA"), directory("test  tsa"), dns("tsa.example.org")):
        assert refused(Recipe(low, DIGEST, authority=name))[1] is None
    for name in (directory("Another TSA"), dns("another.example.org"), b"\xa4\x00", b""):
        status, reason = refused(Recipe(low, DIGEST, authority=name))
        assert status is Status.INVALID
        assert reason in (Reason.TSA_NAME_MISMATCH, Reason.MALFORMED)
    assert refused(Recipe(low, DIGEST, authority=directory("Another TSA")))[1] is Reason.TSA_NAME_MISMATCH


def directory(name: str) -> bytes:
    """Return a GeneralName of the kind directoryName."""
    text = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]).public_bytes()
    return element(0xA4, text)


def dns(name: str) -> bytes:
    return element(0x82, name.encode())


@pytest.mark.parametrize("kind", ["rsa", "curve", "dsa"])
def test_a_root_with_a_weak_key_proves_nothing(kind: str) -> None:
    """Trust does not make a short key strong."""
    keys: dict[str, Callable[[], Any]] = {
        "rsa": lambda: rsa.generate_private_key(65537, 1024),
        "curve": lambda: ec.generate_private_key(ec.SECP192R1()),
        "dsa": lambda: dsa.generate_private_key(1024),
    }
    weak = root("Weak", key=keys[kind]())
    assert refused(Recipe(signer(weak), DIGEST), weak) == (Status.INDETERMINATE, Reason.WEAK_KEY)
    middle = certify("Middle", ROOT, ca=True, key=keys[kind]())
    low = signer(middle)
    assert refused(Recipe(low, DIGEST, embedded=[low, middle])) == (Status.INDETERMINATE, Reason.WEAK_KEY)


# Large bundles


def test_a_large_bundle_is_judged_as_a_proof(tmp_path: Path) -> None:
    """A genuine bundle over 64 MiB given with --proof passes; nothing of it is cut off."""
    document = tmp_path / "big.bin"
    piece = bytes(range(256)) * 4096
    with document.open("wb") as file:
        for _ in range(73):
            file.write(piece)
    digest = sha256(piece * 73).digest()
    contents = SCENE.contents(b"", SCENE.document_events(digest))
    contents = replace(
        contents,
        manifest=replace(contents.manifest, witness_hash=digest),
        document=measured("document/a.txt", lambda: iter([piece] * 73)),
    )
    parts = contents.parts()
    token = SCENE.stamper.token(sha256(assembly.listing(parts)).digest())
    bundle = tmp_path / "big.asice"
    with bundle.open("wb") as file:
        file.writelines(write(assembly.seal(parts, token)))
    report = foja.verify(document, SCENE.trust, LATER, proofs=[bundle])
    assert report.verdict == "TOTAL_PASSED"
    assert foja.verify(b"other", SCENE.trust, LATER, proofs=[bundle]).verdict == "TOTAL_FAILED"


def test_a_proof_that_is_too_large_is_named_so(tmp_path: Path) -> None:
    """A limit is not a fault of the proof."""
    proof = tmp_path / "x.tsr"
    proof.write_bytes(SCENE.stamper.reply(DIGEST) + bytes(20 << 20))
    [found] = foja.verify(b"document", SCENE.trust, LATER, proofs=[proof]).evidence
    assert (found.status, found.reason) == (Status.UNSUPPORTED, Reason.TOO_LARGE)


# Revocation and origins


def test_a_status_must_be_current_at_the_time_judged() -> None:
    """A list inside the token does not know of a later compromise."""
    low = signer(ROOT)
    known = crl(by=ROOT, name=ROOT, at=NOW - DAY)
    made = Recipe(low, DIGEST, crls=[known])
    for at, expected in ((NOW + DAY, None), (NOW + 100 * DAY, Reason.REVOCATION_UNKNOWN)):
        assert refused(made, at=at, require_revocation=True)[1] is expected
    fresh = crl(by=ROOT, name=ROOT, at=NOW + 99 * DAY)
    assert refused(made, at=NOW + 100 * DAY, require_revocation=True, crls=[fresh])[1] is None


@pytest.mark.parametrize(
    "origin",
    [
        *("another.example", "log.example.org", "log.examples/1", "log.exampl"),
        *("log.example/2", "log.example/fork", "log.example/2/7-abc", f"log.example/02/7-{64 * 'a'}"),
        *(f"log.example/2/07-{64 * 'a'}", f"log.example/1/7-{64 * 'a'}", f"log.example/2/7-{64 * 'A'}"),
    ],
)
def test_a_key_signs_only_for_the_log_of_its_name(origin: str) -> None:
    """A note of another origin, signed by the same key, is refused: so is a restart that names no head."""
    event = stream("document", ENTITY, SCENE.document_events(DIGEST))[-1]
    genuine = SCENE.prove(event)
    moved = Checkpoint(origin, 5, SCENE.root_of(event))
    forged = Proof(genuine.index, genuine.path, SCENE.key.sign(moved.text()))
    [found] = foja.verify(event.text().encode(), SCENE.trust, LATER, proofs=[forged.text().encode()]).evidence
    assert (found.status, found.reason) == (Status.INVALID, Reason.CHECKPOINT_UNSIGNED)
    with pytest.raises(Tampered, match="no key you trust"):
        forged.check(event.check(), [SCENE.key.verifier()])
    for name in ("log.example", "log.example/1", f"log.example/2/7-{64 * 'a'}"):
        again = Proof(
            genuine.index, genuine.path, SCENE.key.sign(Checkpoint(name, 5, SCENE.root_of(event)).text())
        )
        assert parse_proof(again.text()).check(event.check(), [SCENE.key.verifier()]).origin == name


# Names in other tools


def test_other_tools_read_names_beyond_ascii(tmp_path: Path) -> None:
    """The directory names Unix, so that unzip reads names as UTF-8; the files are readable."""
    path = tmp_path / "a.asice"
    name = "document/contraseña ✓.txt"
    path.write_bytes(b"".join(write([part("mimetype", b"x"), part(name, b"text")])))
    with zipfile.ZipFile(path) as found:
        assert {each.create_system for each in found.infolist()} == {3}
        assert found.getinfo(name).external_attr >> 16 == 0o100644
    if not shutil.which("unzip"):
        pytest.skip("no unzip here (apt install unzip)")
    subprocess.run(
        ["unzip", "-q", str(path), "-d", str(tmp_path)],
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert (tmp_path / name).read_text() == "text"


def test_bundles_of_the_first_version_are_read_as_a_whole() -> None:
    """An older directory names MS-DOS in every entry; a mixture is refused."""
    data = SCENE.bundle()
    entries = list(open_container(io.BytesIO(data)).entries.values())
    start = archive.offsets(entries)[-1]
    old = data[:start] + archive.directory(entries, archive.FIRST_HOST)
    assert foja.verify(old, SCENE.trust, LATER).verdict == "TOTAL_PASSED"
    new, first = data[start:], old[start:]
    mixed = data[:start] + b"".join(
        new[at : at + 1] if at > len(new) // 2 else first[at : at + 1] for at in range(len(new))
    )
    assert [each.reason for each in foja.verify(mixed, SCENE.trust, LATER).evidence] == [Reason.ZIP_LAYOUT]


# Files that are no evidence


def foreign(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as container:
        container.writestr("mimetype", "application/vnd.etsi.asic-e+zip")
        for name, data in files:
            container.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (foreign(("hello.txt", b"hi"), ("META-INF/signatures001.xml", b"<a/>")), "not a bundle of Foja"),
        (foreign(("junk.txt", b"junk")), "not a bundle of Foja"),
        (b"junk\n", "no proof was given"),
        (b"", "no proof was given"),
        (SCENE.stamper.reply(DIGEST), "without the file that it is about"),
    ],
)
def test_a_file_that_is_no_evidence_is_named_unsupported(data: bytes, words: str) -> None:
    """The report says in words that nothing in the file was judged."""
    report: Report = foja.verify(data, SCENE.trust, LATER)
    [found] = report.evidence
    assert (report.verdict, found.status, found.reason) == (
        "INDETERMINATE",
        Status.UNSUPPORTED,
        Reason.UNKNOWN_PROOF,
    )
    assert words in found.detail


# What a log says of itself


def own_entry() -> tuple[bytes, list[str | bytes]]:
    """Return a bundle whose transparency log is the ledger's own, and the trust of an installation."""
    scene, instance = Scene(), sigstores.Instance()
    instance.new_log, instance.stamper = Signer(scene.key.name, scene.key.private_key), scene.stamper
    confirmed: Json = {"witness_hash": sigstores.DIGEST.hex(), "proof": b64encode(instance.bundle()).decode()}
    events = scene.document_events(sigstores.DIGEST, [("rekor.confirmed", confirmed)], ("tsa", "rekor"))
    signer = b64decode(sigstores.armour("PUBLIC KEY", sigstores.spki(instance.signer)))
    return scene.bundle(b"document", events), [scene.stamper.root.pem, scene.key.verifier().vkey(), signer]


def test_the_log_of_a_ledger_is_no_transparency_log_for_it() -> None:
    """An entry in the ledger's own log counted as evidence `rekor`: the operator vouched for the operator."""
    bundle, trust = own_entry()
    policy = json.dumps({"form": "foja/policy/v1", "required": ["rekor"]})
    report = foja.verify(bundle, [*trust, policy], LATER)
    [found] = [each for each in report.evidence if each.evidence == "rekor"]
    assert (found.status, found.reason) == (Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR)
    assert (report.verdict, found.no_later_than) == ("INDETERMINATE", None)


NOTE = SCENE.key.sign(Checkpoint("log.example/1", 7, bytes(32)).text())
KEY_LINE = SCENE.key.verifier().vkey()


@pytest.mark.parametrize(
    ("note", "key", "verdict", "said"),
    [
        (NOTE, True, "TOTAL_PASSED", "the log “log.example/1” signed this checkpoint of 7 entries"),
        (NOTE.replace("\n7\n", "\n8\n"), True, "TOTAL_FAILED", "does not match the checkpoint"),
        (
            NOTE.replace("\n7\n", "\n8\n"),
            False,
            "TOTAL_PASSED",
            "the log “log.example/1” signed this",
        ),
    ],
)
def test_a_report_about_a_checkpoint_says_whether_its_log_signed_it(
    note: str, key: bool, verdict: str, said: str
) -> None:
    """A forged checkpoint with a true token passed; nothing said that its signature was not checked."""
    token = SCENE.stamper.token(sha256(note.encode()).digest())
    trust: list[str | bytes] = [SCENE.stamper.root.pem, *([KEY_LINE] if key else [])]
    report = foja.verify(note.encode(), trust, LATER, proofs=[token])
    assert report.verdict == verdict
    assert said in report.json().decode()


def test_a_hash_of_a_log_proof_has_one_spelling() -> None:
    """The last character of a hash in base64 could be another one, with the same bytes."""
    event = stream("document", ENTITY, SCENE.document_events(sha256(b"a").digest()))[-1]
    text = SCENE.prove(event).text()
    hashed = text.split("\n")[2]
    other = hashed[:-2] + chr(ord(hashed[-2]) + 1) + "="
    assert b64decode(other) == b64decode(hashed)
    with pytest.raises(Tampered, match="one spelling"):
        parse_proof(text.replace(hashed, other))


@pytest.mark.parametrize("content", [b"\xff\xff", b"", b"\x01"])
def test_a_boolean_is_one_byte(content: bytes) -> None:
    """A token whose `ordering` had two bytes was accepted; openssl refuses it."""
    with pytest.raises(Malformed):
        DerReader(element(BOOLEAN, content)).boolean()
    assert DerReader(element(BOOLEAN, b"\xff")).boolean()
