"""What of a history is complete: every omission is named by its number."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from html import unescape

import pytest

import foja
from foja.interfaces.certificate.page import certificate
from foja.pure.core.bundle import history, names
from foja.pure.core.bundle.archive import part
from foja.pure.core.bundle.history import missing_numbers
from foja.pure.core.canonical import Json
from foja.pure.core.excerpt import Excerpt
from foja.pure.judge.contents import ContentsReader
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.render.notices import translate
from foja.pure.judge.render.statements import section
from foja.pure.judge.render.translations import LANGUAGES
from foja.pure.judge.report import Report, Verdict
from foja.pure.models.conversations.approvals import decision_id
from foja.pure.proofs.contents import Completeness, Contents
from foja.pure.proofs.cosignature import CosignatureAlgorithm, CosignerSigner
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.bundles import CONVERSATION, NOW, Events, Scene
from tests.rules.pdf_text import pdf_lines
from tests.rules.streams import stream

SCENE = Scene()
OMISSIONS = 10_000
LINES_SAID: Events = [("thinking", {"content": f"line {n}"}) for n in range(40)]
TALK = stream("conversation", CONVERSATION, LINES_SAID)
LINES = [*history.encode(TALK)]


def tool(name: str, seq: int | None = None) -> tuple[str, Json]:
    reserved: dict[str, Json] = {} if seq is None else {"result_seq": seq}
    return "tool_use_requested", {"tool_use_id": name, "tool_name": "search", "tool_args": {}, **reserved}


def result(name: str) -> tuple[str, Json]:
    payload: Json = {
        "tool_use_id": name,
        "tool_name": "search",
        "tool_result": 1,
        "success": True,
        "error_message": None,
    }
    return "tool_use_completed", payload


def asked(name: str, tool_args: Json = None) -> tuple[str, Json]:
    payload: Json = {
        "approval_id": name,
        "tool_name": "refund",
        "tool_args": tool_args or {"order": 7},
        "expires_at": "2120-01-01T00:00:00Z",
    }
    return "approval_requested", payload


def decided(name: str, decision: str, **more: Json) -> tuple[str, Json]:
    return "approval_completed", {"approval_id": name, "decision": decision, "reason": None, **more}


def read(events: Iterable[Excerpt]) -> Contents:
    reader = ContentsReader()
    for event in events:
        reader.take(event)
    return reader.contents(CONVERSATION, "conversation")


def judged(events: list[Excerpt], end: Excerpt | None = None) -> Report:
    data = history.heading("conversation", CONVERSATION) + b"".join(history.encode(events))
    proof = SCENE.prove(end or events[-1]).text().encode()
    return foja.verify(data, SCENE.trust, NOW, proofs=[proof])


def numbers_in(text: str) -> set[int]:
    """Return the numbers that a list such as `3, 7-9` names."""
    runs = [each.partition("-") for each in text.split(", ")]
    return {seq for low, _, high in runs for seq in range(int(low), int(high or low) + 1)}


def test_the_missing_numbers_are_those_that_are_not_there() -> None:
    chance = random.Random(28)
    for _ in range(1000):
        length = chance.randint(2, 300)
        gone = {*chance.sample(range(length - 1), chance.randint(1, length - 1))}
        found = [seq for seq in range(length) if seq not in gone]
        runs = missing_numbers(0, found)
        assert {seq for low, high in runs for seq in range(low, high + 1)} == gone


def test_ten_thousand_omissions_in_histories_are_each_named() -> None:
    """A refusal named only the first number that was missing."""
    chance, heading = random.Random(29), history.heading("conversation", CONVERSATION)
    proof, omitted = SCENE.prove(TALK[-1]).text().encode(), 0
    while omitted < OMISSIONS:
        gone = {*chance.sample(range(len(TALK) - 1), chance.randint(1, 12))}
        left = b"".join(line for seq, line in enumerate(LINES) if seq not in gone)
        [found] = foja.verify(heading + left, SCENE.trust, NOW, proofs=[proof]).evidence
        check_named(found, gone)
        omitted += len(gone)


def test_omissions_in_a_protected_conversation_are_each_named() -> None:
    chance, whole = random.Random(31), SCENE.conversation(LINES_SAID)
    for _ in range(50):
        gone = {*chance.sample(range(len(TALK) - 1), chance.randint(1, 12))}
        left = b"".join(line for seq, line in enumerate(LINES) if seq not in gone)
        cut = replace(whole, source_events=part(names.SOURCE_EVENTS, left))
        report = foja.verify(SCENE.seal(cut.parts()), SCENE.trust, NOW)
        assert report.verdict is Verdict.TOTAL_FAILED
        [found] = [each for each in report.evidence if each.status is Status.INVALID]
        check_named(found, gone)


def check_named(found: Finding, gone: set[int]) -> None:
    """Fail unless a finding names exactly these numbers as missing."""
    assert (found.status, found.reason) == (Status.INVALID, Reason.LEDGER_GAP)
    named = re.search(r"\bevents? ([0-9][-0-9, ]*) of ", found.detail)
    assert named is not None, found.detail
    assert numbers_in(named[1]) == gone


def test_a_history_in_another_order_is_not_called_incomplete() -> None:
    data = history.heading("conversation", CONVERSATION) + b"".join([LINES[1], LINES[0], *LINES[2:]])
    [found] = foja.verify(data, SCENE.trust, NOW).evidence
    assert found.reason is Reason.LEDGER_GAP
    assert "another order" in found.detail


def test_a_history_without_its_end_names_the_next_number() -> None:
    [found] = judged(TALK[:7], TALK[-1]).evidence
    assert found.reason is Reason.INCLUSION_INVALID
    assert "event 7 or a later one is missing" in found.detail


def test_ten_thousand_acts_that_were_not_recorded_are_each_named() -> None:
    """Results, decisions and numbers that stayed open are listed by the number of their request."""
    chance = random.Random(30)
    for _ in range(OMISSIONS // 20):
        events: Events = []
        expected = {name: list[int]() for name in ("requests", "approvals", "expired", "voided")}
        waiting: Events = []
        for turn in range(20):
            act, seq = chance.randint(0, 5), len(events)
            if act == 0:
                events.append(("slot.voided", {"reason": f"reason {turn}"}))
                expected["voided"].append(seq)
            elif act in (1, 2):
                events.append(tool(f"t{turn}"))
                if act == 1:
                    waiting.append(result(f"t{turn}"))
                else:
                    expected["requests"].append(seq)
            else:
                events.append(asked(f"a{turn}"))
                decision = {3: "approved", 4: "expired"}.get(act)
                if decision:
                    waiting.append(decided(f"a{turn}", decision))
                if act != 3:
                    expected["expired" if decision else "approvals"].append(seq)
            if waiting and chance.random() < 0.5:
                events.append(waiting.pop(chance.randrange(len(waiting))))
        chance.shuffle(waiting)
        whole = read(stream("conversation", CONVERSATION, events + waiting)).whole
        assert whole is not None
        assert list(whole.requests) == expected["requests"]
        assert list(whole.approvals) == expected["approvals"]
        assert sorted(whole.expired) == expected["expired"]
        assert [seq for seq, _ in whole.voided] == expected["voided"]


SCRIPT: Events = [
    asked("a"),
    decided("a", "approved"),
    tool("t", 4),
    tool("u", 5),
    result("t"),
    ("slot.voided", {"reason": "nobody answered"}),
    asked("b"),
    asked("c"),
    decided("c", "expired"),
]


def test_a_report_says_what_is_complete_and_what_cannot_be() -> None:
    report = judged(stream("conversation", CONVERSATION, SCRIPT))
    assert report.verdict is Verdict.TOTAL_PASSED
    for line in (
        f"Numbers 0 to 8 of conversation {CONVERSATION}: none is missing, as of the checkpoint of",
        "“log.example/1” at 5 entries; whether there is a number 9 is not shown.",
        "Requests of tools for which no result is shown: 3.",
        "Approvals that are open, since no decision is shown: 6.",
        "Approvals that are recorded as expired: 7.",
        "Numbers that were given and not used: 5.",
        "Number 5 was not used, for the reason “nobody answered”.",
        "What the recorder was never told cannot be shown.",
    ):
        assert line in as_text(report)
        assert line in as_html(report)
    spanish = as_text(report, "es")
    assert "Aprobaciones que constan como caducadas: 7." in spanish
    assert "Lo que nunca se comunicó a quien registra no se puede mostrar." in spanish


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_page_and_certificate_say_what_was_recorded(language: str) -> None:
    """The certificate left out who did what, what is complete, and the remarks about each proof."""
    long: tuple[str, Json] = ("user_message_sent", {"content": "a long message " * 12})
    report = judged(stream("conversation", CONVERSATION, [*SCRIPT, long]))
    remark = "judged as of a day: no verified time is earlier"
    report = replace(report, evidence=(replace(report.evidence[0], remarks=(remark,)),))
    said = section(report, language)
    assert said is not None
    quotes = [quote for each in said.said for quote in each.quotes]
    assert len(quotes) == 1
    lines = [said.title, said.lead, *(each.sentence for each in said.said), *quotes]
    lines += [said.title_complete, *said.complete, translate(remark, language)]
    page = unescape(re.sub("<[^>]*>", " ", as_html(report, language)))
    for form in (
        as_text(report, language),
        page,
        " ".join(pdf_lines(certificate(report, language=language))),
    ):
        words = " ".join(form.split())
        assert [each for each in lines if " ".join(each.split()) not in words] == []


def test_a_protected_conversation_says_the_same() -> None:
    report = foja.verify(SCENE.seal(SCENE.conversation(SCRIPT).parts()), SCENE.trust, NOW)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert "Requests of tools for which no result is shown: 3." in as_text(report)
    assert '“ana” approved “refund” with “{"order":7}”' in as_text(report)


def test_without_trust_nothing_is_called_complete() -> None:
    data = history.heading("conversation", CONVERSATION) + b"".join(LINES)
    shown = as_text(foja.verify(data, (), NOW, proofs=[SCENE.prove(TALK[-1]).text().encode()]))
    assert "as of the checkpoint" not in shown
    assert "no log that you trust confirms it" in shown
    assert "The file says this; no log that you trust has signed it." in shown


def test_a_log_that_you_trust_is_not_denied() -> None:
    """With too few cosigners, or a body withheld, it said that no log that you trust has signed it."""
    events = stream("conversation", CONVERSATION, [asked("a"), decided("a", "approved")])
    cosigner = CosignerSigner("a.example", bytes(32), CosignatureAlgorithm.ED25519).key().vkey()
    trust = [SCENE.key.verifier().vkey(), cosigner, "cosigners:1 of 1"]
    bare = replace(events[0], payload=None, actor=None, salt=None)
    proof = SCENE.prove(events[-1]).text().encode()
    heading = history.heading("conversation", CONVERSATION)
    for given, shown in ((trust, events), (trust[:1], [bare, events[1]])):
        data = heading + b"".join(history.encode(shown))
        text = as_text(foja.verify(data, given, NOW, proofs=[proof]))
        assert "as of the checkpoint of a log that you trust at 5 entries" in text
        assert "no log that you trust" not in text
    event = foja.verify(events[-1].text().encode(), trust, NOW, proofs=[proof])
    assert event.evidence[0].reason is Reason.COSIGNERS_MISSING
    assert "no log that you trust" not in as_text(event)


def test_what_is_not_shown_is_not_denied() -> None:
    """An approval whose deadline has passed was open, and the next line said that none had expired."""
    kind, payload = asked("a")
    late = (kind, {**payload, "expires_at": "2020-01-01T00:00:00Z"})  # type: ignore[dict-item]
    text = as_text(judged(stream("conversation", CONVERSATION, [late])))
    assert "Approvals that are open, since no decision is shown: 0." in text
    assert "No approval is recorded as expired." in text
    assert "No request of a tool is shown without its result." in text
    assert "Each of these numbers was used." in text


def test_what_was_erased_is_not_called_open() -> None:
    """Without its body, a decision is known by its id, and a result by the number that was reserved."""
    events = stream("conversation", CONVERSATION, [*SCRIPT, ("body.erased", {"seq": 1, "reason": "asked"})])
    hidden = replace(events[1], payload=None, actor=None, salt=None, event_id=decision_id(CONVERSATION, "a"))
    gone = replace(events[4], payload=None, actor=None, salt=None)
    whole = read([events[0], hidden, *events[2:4], gone, *events[5:]]).whole
    assert whole == Completeness((3,), (6,), (7,), ((5, "nobody answered"),), (1, 4))


def test_a_long_history_is_shown_at_both_ends() -> None:
    report = judged(TALK)
    shown = as_text(report)
    assert "“line 9”" in shown
    assert "“line 10”" not in shown
    assert "… 20 more events are not shown here." in shown
    assert "“line 30”" in shown


def test_arguments_of_another_digest_are_not_shown_with_a_decision() -> None:
    digest = sha256(b"other").hexdigest()
    events = stream("conversation", CONVERSATION, [asked("a"), decided("a", "denied", args_sha256=digest)])
    shown = as_text(judged(events))
    assert f"denied “refund” with arguments whose SHA-256 is {digest}" in shown


@pytest.mark.parametrize(
    "payload",
    [
        *(None, 7, "text", ["a"], {}, {"approval_id": 7, "tool_use_id": []}),
        {"approval_id": "a", "decision": ["approved"], "request_seq": True, "args_sha256": 7},
        {"tool_use_id": "t", "result_seq": "4", "tool_args": None, "reason": {"a": 1}},
        {"content": {"text": 1}, "tool_result": [[[[]]]], "seq": None},
    ],
)
def test_any_payload_has_words(payload: Json) -> None:
    """Kinds and fields of a history are only claims: any of them is shown without a fault."""
    kinds = [
        *("approval_requested", "approval_completed", "tool_use_requested", "tool_use_completed"),
        *("slot.voided", "body.erased", "user_message_sent", "other.kind"),
    ]
    report = judged(stream("conversation", CONVERSATION, [(kind, payload) for kind in kinds]))
    assert report.verdict is Verdict.TOTAL_PASSED
    assert "What was recorded" in as_text(report)
    assert "Qué se registró" in as_html(report, "es")
