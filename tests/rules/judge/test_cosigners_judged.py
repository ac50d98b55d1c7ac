"""The policy about cosigners: how many vouch for the checkpoint of a proof, and what if they are too few."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest

import foja
from foja.errors import Refused
from foja.pure.core.bundle import history
from foja.pure.core.note import split_note
from foja.pure.core.proof import Proof, parse_proof
from foja.pure.judge.render.text import as_text
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.cosignature import CosignerSigner, Policy
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.bundles import ENTITY, NOW, TEXT, Scene
from tests.rules.streams import stream

AT = NOW + timedelta(hours=1)
TIME = int(NOW.timestamp())
SCENE = Scene()
EVENTS = stream("document", ENTITY, SCENE.document_events(sha256(TEXT).digest()))
EXPORTED = history.heading("document", ENTITY) + b"".join(history.encode(EVENTS))
PROOF = SCENE.prove(EVENTS[-1])
ANA, BOB, EVE = (
    CosignerSigner(f"{each}.example", sha256(each.encode()).digest()) for each in ("ana", "bob", "eve")
)
THREE = [each.key().vkey() for each in (ANA, BOB, EVE)]
OTHERS = "whether others see the same log"


def cosigned(*signers: CosignerSigner, time: int = TIME, proof: Proof = PROOF) -> Proof:
    text = split_note(proof.note)[0]
    return replace(proof, note=proof.note + "".join(each.cosign(text, time) for each in signers))


def trusting(*lines: str) -> Trust:
    return read([SCENE.stamper.root.pem, SCENE.key.verifier().vkey(), *lines])


def judged(proof: Proof, *lines: str) -> Report:
    return foja.verify(EXPORTED, trusting(*lines), AT, proofs=[proof.text().encode()])


def found(proof: Proof, *lines: str) -> Finding:
    [finding] = judged(proof, *lines).evidence
    return finding


def bundle(*signers: CosignerSigner, time: int = TIME) -> bytes:
    contents = SCENE.contents()
    assert contents.log_proof
    proof = cosigned(*signers, time=time, proof=parse_proof(contents.log_proof))
    return SCENE.seal(replace(contents, log_proof=proof.text()).parts())


def test_enough_cosigners_meet_the_policy() -> None:
    report = judged(cosigned(ANA, EVE), *THREE, "cosigners:2 of 3")
    [finding] = report.evidence
    assert report.verdict is Verdict.TOTAL_PASSED
    assert finding.detail.endswith("; 2 of 3 cosigners vouch for it")
    assert [item.name for item in finding.rests_on if item.kind == "cosigner"] == [
        "ana.example",
        "eve.example",
    ]
    assert OTHERS in finding.not_checked, "cosigners do not read the entries"
    document = report.document()["policy"]
    assert isinstance(document, dict)
    assert (document["cosigners"], document["cosigner_policy"]) == (sorted(THREE), "2 of 3")


def test_too_few_cosigners_are_undecided() -> None:
    for proof in (PROOF, cosigned(ANA)):
        report = judged(proof, *THREE, "cosigners:2 of 3")
        [finding] = report.evidence
        assert report.verdict is Verdict.INDETERMINATE
        assert (finding.status, finding.reason) == (Status.INDETERMINATE, Reason.COSIGNERS_MISSING)
        assert "your policy needs 2 of 3" in finding.detail
        assert not finding.rests_on


def test_without_a_policy_cosigners_are_only_counted() -> None:
    finding = found(cosigned(ANA), *THREE)
    assert (finding.status, OTHERS in finding.not_checked) == (Status.VERIFIED, True)
    assert finding.detail.endswith("; 1 of 3 cosigners vouch for it")
    assert "cosigner" not in found(cosigned(ANA)).detail, "a cosigner that is not known is not counted"


def test_a_key_counts_once_and_the_log_not_at_all() -> None:
    alias = CosignerSigner("alias.example", ANA.private_key)
    own = CosignerSigner("independent.example", SCENE.key.private_key)
    vkeys = [ANA.key().vkey(), alias.key().vkey(), own.key().vkey()]
    finding = found(cosigned(ANA, alias, own, ANA), *vkeys, "cosigners:2 of 2")
    assert finding.reason is Reason.COSIGNERS_MISSING
    assert "; 1 of 1 cosigners vouch for it, but" in finding.detail


def test_a_cosignature_of_the_future_does_not_count_yet() -> None:
    late = int((AT + timedelta(minutes=6)).timestamp())
    policy = (*THREE, "cosigners:1 of 3")
    assert found(cosigned(ANA, time=late), *policy).reason is Reason.COSIGNERS_MISSING
    assert found(cosigned(ANA, time=late - 120), *policy).status is Status.VERIFIED
    report = foja.verify(bundle(ANA, time=late), trusting(*policy), AT)
    assert report.verdict is Verdict.INDETERMINATE


@pytest.mark.parametrize(
    "line",
    [
        ANA.cosign("log.example/1\n9\nAAAA\n", TIME),
        CosignerSigner("ana.example", ANA.private_key).cosign(split_note(PROOF.note)[0] + "more\n", TIME),
    ],
)
def test_a_wrong_cosignature_of_a_trusted_cosigner_is_invalid(line: str) -> None:
    wrong = replace(PROOF, note=PROOF.note + line)
    report = judged(wrong, *THREE)
    assert report.verdict is Verdict.TOTAL_FAILED
    assert [each.reason for each in report.evidence] == [Reason.COSIGNATURE_INVALID]
    assert judged(wrong).verdict is Verdict.TOTAL_PASSED, "unknown keys are ignored"


def test_a_cosigner_is_no_log_and_alone_signs_nothing() -> None:
    text = split_note(PROOF.note)[0]
    alone = replace(PROOF, note=f"{text}\n{ANA.cosign(text, TIME)}")
    report = judged(alone, *THREE, "cosigners:1 of 3")
    assert [each.reason for each in report.evidence] == [Reason.NO_TRUST_ANCHOR]


def test_a_bundle_carries_its_cosigners_and_old_bundles_stay_valid() -> None:
    plain, signed = bundle(), bundle(ANA, BOB)
    for data in (plain, signed):
        assert foja.verify(data, trusting(), AT).verdict is Verdict.TOTAL_PASSED
    policy = trusting(*THREE, "cosigners:2 of 3")
    assert foja.verify(signed, policy, AT).verdict is Verdict.TOTAL_PASSED
    assert foja.verify(plain, policy, AT).verdict is Verdict.INDETERMINATE
    by_name = replace(policy, required=("tsa",))
    assert foja.verify(plain, by_name, AT).verdict is Verdict.INDETERMINATE
    assert foja.verify(signed, by_name, AT).verdict is Verdict.TOTAL_PASSED


def test_the_report_says_it_in_both_languages() -> None:
    report = judged(cosigned(ANA, EVE), *THREE, "cosigners:2 of 3")
    english, spanish = (as_text(report, language) for language in ("en", "es"))
    assert "2 of 3 cosigners vouch for it" in english
    assert "“ana.example” (key of a cosigner, ana.example+" in english
    assert "lo avalan 2 de 3 cofirmantes" in spanish
    assert "clave de un cofirmante" in spanish
    assert "on the word of the log “log.example/1”;" in english, "a cosigner is not named as a log"
    missing = as_text(judged(PROOF, *THREE, "cosigners:1 of 3"), "es")
    assert "lo avalan 0 de 3 cofirmantes, pero su política exige 1 de 3" in missing


def test_trust_reads_cosigners_and_their_policy() -> None:
    policy = {"form": "foja/policy/v1", "trust": THREE, "cosigners": "2 of 3"}
    trust = read([json.dumps(policy)])
    assert (trust.cosigners, trust.cosigner_policy) == (
        tuple(each.key() for each in (ANA, BOB, EVE)),
        Policy(2, 3),
    )
    assert trust.logs == ()
    assert read(["cosigners:2 of 3", *THREE]) == read([*THREE, "cosigners: 2 of 3 "])
    assert "cosigners" not in Trust().document()
    for items in (
        ["cosigners:2 of 3"],
        [*THREE, "cosigners:2 of 2"],
        [*THREE, "cosigners:4 of 3"],
        [*THREE, "cosigners:2 of 3", "cosigners:1 of 3"],
        [json.dumps({**policy, "cosigners": 2})],
        [THREE[0][:-4]],
    ):
        with pytest.raises(Refused):
            read(items)
