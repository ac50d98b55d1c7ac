"""Statements of monitors: who made them, what they are about, and when others see the same log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import pytest

import foja
from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.signer import vouch
from foja.engine.monitor.source import Folder
from foja.engine.monitor.state import State
from foja.errors import Refused
from foja.pure.core.bundle import names
from foja.pure.core.bundle.assembly import Contents
from foja.pure.core.bundle.manifest import StreamHead
from foja.pure.core.canonical import Json
from foja.pure.core.chain import leaf_entry
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.core.proof import Proof, parse_proof
from foja.pure.judge.others.monitors import RESTARTED
from foja.pure.judge.render.text import as_text
from foja.pure.judge.render.words import say_time
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.cosignature import CosignerSigner
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.monitor_statement import MonitorSigner, MonitorStatement, parse_monitor_statement
from tests.rules.bundles import ENTITY, TEXT
from tests.rules.judge.test_cosigners_judged import (
    ANA,
    AT,
    BOB,
    EVENTS,
    EXPORTED,
    OTHERS,
    PROOF,
    SCENE,
    THREE,
    TIME,
    cosigned,
    trusting,
)
from tests.rules.stream_logs import checkpoint, publish
from tests.rules.streams import stream

MONITOR = MonitorSigner("monitor.example", bytes(range(1, 33)))
VKEY = MONITOR.verifier().vkey()
REQUIRED = '{"form": "foja/policy/v1", "required": ["monitor"]}'
OURS = MonitorStatement(
    Checkpoint("log.example", 9, bytes(32)), EVENTS[-1].entity_id, len(EVENTS), EVENTS[-1].chain_hash, TIME
)


def signed(statement: MonitorStatement = OURS, by: Signer = MONITOR) -> bytes:
    return by.sign(statement.text()).encode()


def judged(statement: bytes, *lines: str, proof: Proof = PROOF, subject: bytes = EXPORTED) -> Report:
    return foja.verify(subject, trusting(*lines), AT, proofs=[proof.text().encode(), statement])


def finding(report: Report) -> Finding:
    [found] = [each for each in report.evidence if each.evidence == "monitor"]
    return found


def not_checked(report: Report) -> tuple[str, ...]:
    [found] = [each for each in report.evidence if each.evidence == "ledger"]
    return found.not_checked


def test_others_see_the_same_log_if_cosigners_and_a_monitor_say_so() -> None:
    policy = (*THREE, "cosigners:2 of 3")
    both = judged(signed(), VKEY, *policy, proof=cosigned(ANA, BOB))
    assert (both.verdict, OTHERS in not_checked(both)) == (Verdict.TOTAL_PASSED, False)
    found = finding(both)
    assert found.status is Status.VERIFIED
    assert found.detail.startswith(
        f"the monitor “monitor.example” found event {len(EVENTS) - 1} as the last one"
    )
    assert [(each.kind, each.name) for each in found.rests_on] == [("monitor", "monitor.example")]
    alone = foja.verify(EXPORTED, trusting(VKEY, *policy), AT, proofs=[cosigned(ANA, BOB).text().encode()])
    assert OTHERS in not_checked(alone)
    assert OTHERS in not_checked(judged(signed(), VKEY, *THREE, proof=cosigned(ANA, BOB)))
    assert f"entries of “{OURS.checkpoint.origin}”, on {say_time(OURS.moment, 'en')}" in as_text(both)
    spanish = as_text(both, "es")
    assert "Declaración de un monitor" in spanish
    assert f", el {say_time(OURS.moment, 'es')}" in spanish
    assert "cada número una vez, en 9 entradas de “log.example" in spanish


@pytest.mark.parametrize(
    ("statement", "status", "reason"),
    [
        (signed(replace(OURS, entity_id=UUID(int=5))), Status.INDETERMINATE, Reason.NOT_VOUCHED),
        (
            signed(replace(OURS, checkpoint=Checkpoint("other.example", 9, bytes(32)))),
            Status.INDETERMINATE,
            Reason.NOT_VOUCHED,
        ),
        (
            signed(replace(OURS, events=len(EVENTS) - 1, head=EVENTS[-2].chain_hash)),
            Status.INDETERMINATE,
            Reason.NOT_VOUCHED,
        ),
        (signed(replace(OURS, events=len(EVENTS) - 1)), Status.INVALID, Reason.MONITOR_CONTRADICTS),
        (signed(replace(OURS, events=len(EVENTS) + 1)), Status.INDETERMINATE, Reason.NOT_VOUCHED),
        (signed(replace(OURS, time=TIME + 7200)), Status.INDETERMINATE, Reason.AFTER_VALIDATION_TIME),
        (
            signed(by=MonitorSigner("stranger.example", bytes(32))),
            Status.INDETERMINATE,
            Reason.NO_TRUST_ANCHOR,
        ),
        (
            signed(by=Signer("monitor.example", bytes(range(1, 33)))),
            Status.INDETERMINATE,
            Reason.NO_TRUST_ANCHOR,
        ),
        (signed(replace(OURS, head=bytes(32))), Status.INVALID, Reason.MONITOR_CONTRADICTS),
        (signed().replace(b"events 5", b"events 6"), Status.INVALID, Reason.MONITOR_INVALID),
        (signed().replace(b"head", b"tail"), Status.INVALID, Reason.MONITOR_INVALID),
        (b"foja/monitor/v1\nnothing", Status.INVALID, Reason.MONITOR_INVALID),
    ],
)
def test_a_statement_counts_for_exactly_this_head(statement: bytes, status: Status, reason: Reason) -> None:
    report = judged(statement, VKEY, REQUIRED)
    found = finding(report)
    assert (found.status, found.reason) == (status, reason)
    assert OTHERS in not_checked(report)
    expected = Verdict.TOTAL_FAILED if status is Status.INVALID else Verdict.INDETERMINATE
    assert report.verdict is expected


def test_no_log_is_its_own_monitor() -> None:
    own = MonitorSigner("independent.example", SCENE.key.private_key)
    report = judged(signed(by=own), own.verifier().vkey(), REQUIRED)
    assert (finding(report).reason, report.verdict) == (Reason.NO_TRUST_ANCHOR, Verdict.INDETERMINATE)


@pytest.mark.parametrize("other", [MONITOR, MonitorSigner("second.example", bytes(range(2, 34)))])
def test_an_old_statement_does_not_count_beside_a_newer_one(other: MonitorSigner) -> None:
    """The old one vouches for the last event shown; the newer one, given too, names a later event."""
    longer = signed(replace(OURS, events=len(EVENTS) + 1, head=bytes(32), time=TIME - 60), by=other)
    given, proofs = trusting(VKEY, other.verifier().vkey(), REQUIRED), [PROOF.text().encode(), signed()]
    assert foja.verify(EXPORTED, given, AT, proofs=proofs).verdict is Verdict.TOTAL_PASSED
    for statements in ([*proofs, longer], [longer, *proofs]):
        report = foja.verify(EXPORTED, given, AT, proofs=statements)
        assert report.verdict is Verdict.INDETERMINATE
        assert {each.reason for each in report.evidence if each.evidence == "monitor"} == {Reason.NOT_VOUCHED}
    assert foja.verify(EXPORTED, trusting(VKEY, REQUIRED), AT, proofs=[*proofs, longer]).verdict is (
        Verdict.INDETERMINATE if other is MONITOR else Verdict.TOTAL_PASSED
    ), "the statement of a stranger changes nothing"


@pytest.mark.parametrize(
    "origin",
    [
        *("log.example/2", "log.example%2F1", "LOG.example", "log.example/", "log.example／1", "lоg.example"),
        *(f"log.example/2/9-{64 * 'A'}", f"log.example/02/9-{64 * 'a'}", f"log.example/٢/9-{64 * 'a'}"),
    ],
)
def test_no_other_spelling_of_the_name_is_the_log(origin: str) -> None:
    """Neither a statement nor a checkpoint under another spelling of the name counts for the log."""
    elsewhere = signed(replace(OURS, checkpoint=replace(OURS.checkpoint, origin=origin)))
    assert judged(elsewhere, VKEY, REQUIRED).verdict is Verdict.INDETERMINATE
    checkpoint = Checkpoint(origin, 5, SCENE.root_of(EVENTS[-1]))
    forged = replace(PROOF, note=SCENE.key.sign(checkpoint.text()))
    report = judged(signed(), VKEY, REQUIRED, proof=forged)
    assert report.verdict is Verdict.TOTAL_FAILED
    assert {each.reason for each in report.evidence if each.evidence == "ledger"} == {
        Reason.CHECKPOINT_UNSIGNED
    }


def test_statements_of_two_histories_disagree_about_what_is_shown() -> None:
    """Beside a statement that fits, an older one about another history of the stream said nothing."""
    history, second = EVENTS[:-2], MonitorSigner("second.example", bytes(range(2, 34)))
    honest = replace(OURS, events=len(history), head=history[-1].chain_hash)
    trust = trusting(VKEY, second.verifier().vkey(), REQUIRED)
    export, proof = EXPORTED, PROOF.text().encode()
    agree = foja.verify(export, trust, AT, proofs=[proof, signed(), signed(honest, second)])
    assert agree.verdict is Verdict.TOTAL_PASSED
    other = signed(replace(honest, head=bytes(32)), second)
    for proofs in ([proof, signed(), other], [proof, other, signed()]):
        assert foja.verify(export, trust, AT, proofs=proofs).verdict is Verdict.TOTAL_FAILED
    shown = SCENE.document_events(sha256(TEXT).digest())
    events, bundle = stream("document", ENTITY, shown), SCENE.bundle(TEXT, shown)
    head = signed(replace(OURS, entity_id=ENTITY, events=len(events), head=events[-1].chain_hash))
    older = signed(replace(OURS, entity_id=ENTITY, events=1, head=bytes(32)), second)
    verdicts = [foja.verify(bundle, trust, AT, proofs=each).verdict for each in ([head], [head, older])]
    assert verdicts == [Verdict.TOTAL_PASSED, Verdict.TOTAL_FAILED]


def test_a_statement_alone_proves_nothing() -> None:
    for subject, proofs in ((EXPORTED, [signed()]), (b"a text", [signed()])):
        report = foja.verify(subject, trusting(VKEY, REQUIRED), AT, proofs=proofs)
        assert finding(report).reason is Reason.NOT_VOUCHED
        assert report.verdict is Verdict.INDETERMINATE
    unsigned = replace(PROOF, note=Signer("other", bytes(32)).sign(PROOF.note.partition("\n\n")[0] + "\n"))
    assert finding(judged(signed(), VKEY, proof=unsigned)).reason is Reason.NOT_VOUCHED


def test_a_policy_requires_a_monitor_for_each_stream_of_a_bundle() -> None:
    contents = SCENE.conversation()
    source = contents.manifest.source
    assert source
    heads: list[StreamHead] = [contents.manifest.stream, source]
    statements = [
        signed(replace(OURS, entity_id=each.entity_id, events=each.events, head=each.head)) for each in heads
    ]
    bundle, trust = SCENE.seal(contents.parts()), trusting(VKEY, REQUIRED)

    def verdict(*proofs: bytes) -> Verdict:
        return foja.verify(bundle, trust, AT, proofs=proofs).verdict

    assert [verdict(), verdict(statements[0]), verdict(statements[1])] == [Verdict.INDETERMINATE] * 3
    assert verdict(*statements) is Verdict.TOTAL_PASSED
    assert foja.verify(bundle, trusting(), AT).verdict is Verdict.TOTAL_PASSED


def test_a_bundle_carries_statements_about_its_streams() -> None:
    """A statement counted only beside a bundle, so it was lost with the folder that it lay in."""
    contents = SCENE.conversation()
    heads = {names.MONITORED: contents.manifest.stream, names.SOURCE_MONITORED: contents.manifest.source}
    statements = {
        path: signed(replace(OURS, entity_id=each.entity_id, events=each.events, head=each.head))
        for path, each in heads.items()
        if each
    }

    def judge(inside: dict[str, bytes], *lines: str, of: Contents = contents) -> Report:
        bundle = SCENE.seal(replace(of, statements=inside).parts())
        return foja.verify(bundle, trusting(*lines), AT)

    whole = judge(statements, VKEY, REQUIRED)
    assert whole.verdict is Verdict.TOTAL_PASSED
    assert [each.name for each in whole.evidence if each.evidence == "monitor"] == [*statements]
    assert judge({}, VKEY, REQUIRED).verdict is Verdict.INDETERMINATE
    assert judge(dict([*statements.items()][:1]), VKEY, REQUIRED).verdict is Verdict.INDETERMINATE
    assert judge(statements).verdict is Verdict.TOTAL_PASSED, "who does not know the monitor loses nothing"
    assert judge(statements, REQUIRED).verdict is Verdict.INDETERMINATE, "a key inside is never trusted"
    other = signed(replace(OURS, entity_id=UUID(int=5)))
    assert judge({names.MONITORED: other}, VKEY, REQUIRED).verdict is Verdict.INDETERMINATE
    assert judge({names.MONITORED: b"x"}).verdict is Verdict.TOTAL_FAILED
    assert judge({names.MONITORED: bytes(1 << 20)}).evidence[0].reason is Reason.ZIP_BOMB
    for path in ("evidence/more.monitor", "trust/events.monitor"):
        assert judge({path: other}).evidence[0].reason is Reason.UNREFERENCED_ENTRY
    alone = SCENE.contents()
    strange = judge({names.SOURCE_MONITORED: other}, of=alone)
    assert strange.evidence[0].reason is Reason.UNREFERENCED_ENTRY


def test_the_report_of_a_bundle_says_whether_others_see_the_same_log() -> None:
    contents = SCENE.contents()
    head = contents.manifest.stream
    statement = signed(replace(OURS, events=head.events, head=head.head))
    assert contents.log_proof
    proof = cosigned(ANA, BOB, proof=parse_proof(contents.log_proof))
    bundle = SCENE.seal(replace(contents, log_proof=proof.text()).parts())
    lines = (VKEY, *THREE, "cosigners:2 of 3")

    def says(*lines: str, proofs: tuple[bytes, ...] = ()) -> bool:
        return OTHERS in not_checked(foja.verify(bundle, trusting(*lines), AT, proofs=proofs))

    assert says()
    assert says(*lines)
    assert says(VKEY, *THREE, proofs=(statement,))
    assert not says(*lines, proofs=(statement,))


@pytest.mark.parametrize(
    ("lines", "cosigners", "open_"),
    [
        (lambda _: (), (), True),
        (lambda origin: (f"restart:{origin}",), (), False),
        (lambda _: (f"restart:log.example/2/8-{64 * 'a'}",), (), True),
        (lambda _: (*THREE, "cosigners:2 of 3"), (ANA, BOB), False),
    ],
)
def test_a_restart_is_named_as_such_unless_others_or_the_reader_vouch_for_it(
    lines: Callable[[str], tuple[str, ...]], cosigners: tuple[()] | tuple[CosignerSigner, ...], open_: bool
) -> None:
    origin = f"log.example/2/7-{64 * 'a'}"
    checkpoint = Checkpoint(origin, 5, SCENE.root_of(EVENTS[-1]))
    proof = cosigned(*cosigners, proof=replace(PROOF, note=SCENE.key.sign(checkpoint.text())))
    report = foja.verify(EXPORTED, trusting(*lines(origin)), AT, proofs=[proof.text().encode()])
    assert (report.verdict, RESTARTED in not_checked(report)) == (Verdict.TOTAL_PASSED, open_)


def test_statements_and_trust_are_read_as_they_were_written() -> None:
    assert parse_monitor_statement(signed()) == OURS
    trust = read([VKEY, "restart: log.example/2/7-ab", "restart:log.example/2/7-ab"])
    assert (trust.monitors, trust.restarts) == ((MONITOR.verifier(),), ("log.example/2/7-ab",))
    assert trust.logs == trust.cosigners == ()
    document = trust.document()
    assert (document["monitors"], document["restarts"]) == ([VKEY], ["log.example/2/7-ab"])
    for wrong in (VKEY[:-4], "restart:", "restart:\x07"):
        with pytest.raises(Refused):
            read([wrong])


async def test_no_bundle_of_a_second_history_passes_under_a_policy_that_asks_for_a_monitor(
    tmp_path: Path,
) -> None:
    """The operator restarts the log before the revocation, in due form, and shows another end."""
    shown = SCENE.document_events(sha256(TEXT).digest())
    revoked: tuple[str, Json] = ("document.revoked", {"reason": "expired"})
    hidden = [*shown[:-1], revoked]
    replaced, first = (stream("document", ENTITY, each) for each in (shown, hidden))
    entries = [leaf_entry(each.entity_id, each.seq, each.chain_hash) for each in (*first, replaced[-1])]
    monitor = Monitor(Folder(tmp_path), [SCENE.key.verifier()], (), State(SCENE.key.name))
    publish(tmp_path, 1, SCENE.key.name, entries[:-1], signer=SCENE.key)
    await monitor.poll(TIME)
    statement = vouch(monitor.state, ENTITY, MONITOR).encode()
    head = checkpoint(SCENE.key.name, entries[:-2])
    origin = f"{SCENE.key.name}/2/{head.size}-{head.root.hex()}"
    publish(tmp_path, 2, origin, entries[-1:], signer=SCENE.key)
    await monitor.poll(TIME + 1)
    assert [each.kind for each in monitor.new] == ["replaced"]
    with pytest.raises(Refused, match="replaced"):
        vouch(monitor.state, ENTITY, MONITOR)
    asking, lying = trusting(VKEY, REQUIRED), SCENE.bundle(TEXT, shown)
    assert foja.verify(lying, asking, AT).verdict is Verdict.INDETERMINATE
    assert foja.verify(lying, asking, AT, proofs=[statement]).verdict is Verdict.TOTAL_FAILED


async def test_no_bundle_of_a_forked_log_passes_under_a_policy_that_asks_for_a_monitor(
    tmp_path: Path,
) -> None:
    """One tree has two last events of a document: one revokes it. All cosigners would sign that tree."""
    shown = SCENE.document_events(sha256(TEXT).digest())
    revoked: tuple[str, Json] = ("document.revoked", {"reason": "expired"})
    hidden = [*shown[:-1], revoked]
    honest, other = (stream("document", ENTITY, each) for each in (shown, hidden))
    entries = [leaf_entry(each.entity_id, each.seq, each.chain_hash) for each in (*honest, other[-1])]
    monitor = Monitor(Folder(tmp_path), [SCENE.key.verifier()], (), State(SCENE.key.name))
    publish(tmp_path, 1, SCENE.key.name, entries[:-1], signer=SCENE.key)
    await monitor.poll(TIME)
    statement = vouch(monitor.state, ENTITY, MONITOR).encode()
    bundles, trust = [SCENE.bundle(TEXT, shown), SCENE.bundle(TEXT, hidden)], trusting(VKEY)
    assert [foja.verify(each, trust, AT).verdict for each in bundles] == [Verdict.TOTAL_PASSED] * 2
    asking = trusting(VKEY, REQUIRED)
    assert [foja.verify(each, asking, AT).verdict for each in bundles] == [Verdict.INDETERMINATE] * 2
    judged = [foja.verify(each, asking, AT, proofs=[statement]).verdict for each in bundles]
    assert judged == [Verdict.TOTAL_PASSED, Verdict.TOTAL_FAILED]
    publish(tmp_path, 1, SCENE.key.name, entries, signer=SCENE.key)
    await monitor.poll(TIME + 1)
    assert [each.kind for each in monitor.new] == ["fork"]
    with pytest.raises(Refused, match="fault"):
        vouch(monitor.state, ENTITY, MONITOR)
