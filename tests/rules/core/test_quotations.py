"""Words of others are quotations: no name, reason, kind or subject can build a sentence of ours."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from html import unescape
from json import dumps, loads
from typing import Any

import pytest

import foja
from foja.interfaces.certificate.font import replace_missing
from foja.interfaces.certificate.page import certificate
from foja.interfaces.cli.chat.transcript import Deadlines, groups
from foja.interfaces.cli.output import escape, print_lines, table
from foja.interfaces.web.pages.frame.page import ENVIRONMENT
from foja.pure.core.bundle import names, proof_file
from foja.pure.core.bundle.archive import part, write
from foja.pure.core.excerpt import FORM
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.render.headline import headline
from foja.pure.judge.render.statements import say
from foja.pure.judge.render.translations import LANGUAGES, TRANSLATIONS
from foja.pure.judge.render.view import view_report
from foja.pure.judge.report import Report, Revoked, Subject, Verdict
from foja.pure.models.conversations.view import ConversationView
from foja.pure.proofs.contents import Act, Statement
from foja.pure.proofs.finding import Finding, Reason, ShownEvent, Status, TrustItem
from foja.pure.quotation import CLOSE, LONGEST, OPEN, QUOTATION, Foreign, is_short, quoted
from tests.rules.bundles import ENTITY, NOW, TEXT, Scene
from tests.rules.histories import envelope
from tests.rules.pdf_text import pdf_lines
from tests.rules.streams import stream

AT = NOW + timedelta(hours=1)
FORGED = "contrato” existed by 1 January 1990, on the word of the Court. “x.pdf"
MARK = "Zqx"  # in every hostile text; outside of a quotation it is a word of ours that somebody else wrote
OURS = [text for pair in TRANSLATIONS.values() for text in pair]
PIECES = (
    *("”", "“", "»", "«", '"', "'", "’", "‘", "‟", "„", "″", "＂", "〞", "''", "``", "´´", "❞", "ˮ", "׳"),
    *(
        "`code`",
        "<b>",
        "</h1><script>alert(1)</script>",
        "&#8221;",
        "]]>",
        "{subject}",
        "%s",
        "{{ 1 }}",
        "\\",
    ),
    *("\n", "\r\n", "\t", "\x00", "\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x7f", "\u2028", "\x85"),
    *("\u202e", "\u202d", "\u2066", "\u2068", "\u2069", "\u200f", "שלום", "مرحبا", "\u061c", "\u200b"),
    *("\u0301" * 40, "\u20dd", "\u0338", "\u3164" * 9, "\u2800", "\u00ad", " " * 60, "\ud800", "🙂\u200d🙂"),
    *("“\u2069", "\u2068“", "”\u2069\u2068“", "”)", "(“", "\ufeff", "y" * 400),
    *(", under your root ", "; event 4 revoked the document", ", but your policy needs 1 of 2"),
)


def hostile(chance: random.Random) -> str:
    """Return a text that tries to leave its quotation."""
    parts = [chance.choice((*PIECES, *PIECES, chance.choice(OURS))) for _ in range(chance.randint(1, 4))]
    return MARK + MARK.join(parts) + MARK


def attacked(texts: Iterator[str]) -> Report:
    """Return a report in which everything that may come from outside is hostile."""
    name = next(texts)
    items = [TrustItem(kind, next(texts), next(texts)) for kind in ("root", "log", "sigstore", "cosigner")]
    history = (ShownEvent(0, next(texts), NOW), ShownEvent(3, next(texts), NOW))
    signer, root = Foreign(next(texts)), Foreign(next(texts))
    detail = f"the token is signed by {signer}, under your root {root}"
    stamp = Finding(
        "tsa", Status.VERIFIED, None, detail, NOW, signer, (f"revocation of {signer}",), next(texts)
    )
    found: tuple[Finding, ...] = (
        replace(stamp, rests_on=tuple(items[:1])),
        Finding("ledger", Status.VERIFIED, history=history, rests_on=tuple(items[1:2]), name=next(texts)),
        Finding(next(texts), Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR, missing=tuple(items[2:])),
    )
    if next(texts)[-4:] < "Z":
        found = (*found, Finding("container", Status.INVALID, Reason.MANIFEST_DIGEST, f"changed: {root}"))
    return Report(Subject(b"\1" * 32, name), found, AT, ("tsa",), None, Revoked(3, NOW, next(texts)))


def words_of_ours(shown: str) -> str:
    """Return a text without its quotations."""
    return re.sub(QUOTATION, "", shown)


def test_a_thousand_hostile_texts_build_no_sentence_in_any_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In text, HTML, the page of a server, the terminal and the certificate, in both languages."""
    chance = random.Random(20261118)
    made = iter([hostile(chance) for _ in range(1100)])
    for number in range(60):
        report = attacked(made)
        for language in LANGUAGES:
            text = as_text(report, language)
            assert MARK not in words_of_ours(text), text
            page = as_html(report, language).partition("<details>")[0]
            assert MARK not in words_of_ours(unescape(re.sub("<[^>]*>", "", page.partition("<body")[2])))
            assert "<script" not in page
            view = view_report(report, language)
            values = [view.first, *view.more, *view.rests_on, *view.missing, *(v for _, v in view.facts)]
            values += [each.what for each in view.timeline] + [each.title for each in view.evidence]
            assert not any(MARK in words_of_ours(each) for each in values)
            print_lines(text.rstrip("\n").split("\n"))
            printed = capsys.readouterr().out
            assert MARK not in words_of_ours(printed)
            assert len(printed.splitlines()) == len(text.rstrip("\n").split("\n"))
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066\u2067]", printed)
            if number % 20 == 0:
                assert MARK not in words_of_ours("".join(pdf_lines(certificate(report, language=language))))
    assert len([*made]) <= 1100 - 60 * 16, "about a thousand were used"


def test_a_name_with_quotation_marks_cannot_forge_the_first_sentence() -> None:
    """A file of this name gave: existed by 1 January 1990, on the word of the Court."""
    scene = Scene()
    token = scene.stamper.reply(sha256(TEXT).digest())
    for language in LANGUAGES:
        report = foja.verify(TEXT, scene.trust, AT, proofs=[token], name=FORGED)
        found = headline(report, language)
        assert "1990" not in words_of_ours(" ".join(found.lines()))
        assert "1990" not in found.first
        assert "1990" in found.more[0]
        assert as_text(report, language).count(OPEN) == as_text(report, language).count(CLOSE)


def test_a_quotation_is_one_line_that_the_text_cannot_end() -> None:
    """It is cut, has no second mark like its own, and is isolated if it is written from right to left."""
    chance = random.Random(7)
    for text in (*(hostile(chance) for _ in range(1000)), *PIECES, "", "”", "\u0301"):
        found = quoted(text)
        inner = found.strip("\u2068\u2069")[1:-1]
        assert re.fullmatch(QUOTATION, found), found
        assert not set(inner) & set('“”«»„‟″＂`"❝❞〝〞\n\r\t\x1b\u202e\u2066\u2067\u2068\u2069')
        assert "''" not in inner
        assert len(inner) <= LONGEST + 2
        assert f"{Foreign(text)}" == found == escape(found)
    assert quoted("a.txt") == "“a.txt”"
    assert quoted("חוזה.txt") == "\u2068“חוזה.txt”\u2069"
    assert "\u2068" not in replace_missing(quoted("חוזה.txt"))
    assert is_short("contract of sale.pdf")
    assert not is_short(FORGED)


def test_a_transcript_quotes_whoever_speaks() -> None:
    """A tool named “denied by the Court” and a reason with a line break stood in it as our words."""
    chance = random.Random(30)
    for _ in range(200):
        say = [hostile(chance) for _ in range(12)]
        payloads: list[tuple[str, str, dict[str, Any]]] = [
            ("user_message_sent", say[0], {"content": say[1]}),
            ("agent_message_sent", say[0], {"content": [{"type": "text", "text": say[1]}, {say[2]: 1}]}),
            (f"own.{say[3]}", say[0], {say[4]: say[5]}),
            ("tool_use_requested", say[0], {"tool_use_id": "t", "tool_name": say[6], "tool_args": say[7]}),
            (
                "tool_use_completed",
                say[0],
                {"tool_use_id": "x", "tool_name": say[6], "error_message": say[8]},
            ),
            (
                "approval_requested",
                say[0],
                {"approval_id": "a", "tool_name": say[9], "tool_args": {}, "expires_at": say[10]},
            ),
            ("approval_completed", say[0], {"approval_id": "a", "decision": say[11], "reason": say[5]}),
            ("slot.open", say[0], {"intent": say[2], "deadline": say[3]}),
            ("body.erased", say[0], {"seq": 0, "reason": say[4]}),
            ("error", say[0], {"message": say[5]}),
        ]
        envelopes = [
            {**envelope(seq, kind, payload, f"e{seq}", "2026-01-02T00:00:00Z"), "actor": actor}
            for seq, (kind, actor, payload) in enumerate(payloads)
        ]
        lines = groups(ConversationView(envelopes).items(), Deadlines(envelopes))
        shown = "\n".join(each.plain() for group in lines for each in group)
        assert MARK in shown
        assert MARK not in words_of_ours(shown), words_of_ours(shown)


def test_only_json_keeps_its_straight_quotation_marks() -> None:
    """An actor named `ana" approved “refund` seemed to end its quotation with a straight mark."""
    forged = 'ana" approved "refund'
    said = Statement(
        2,
        "approval_completed",
        NOW,
        Act.APPROVED,
        actor=forged,
        what=forged,
        content='{"order":7}',
        reason=forged,
    )
    talk = Statement(3, "user_message_sent", NOW, Act.SAID, actor=forged, content=forged)
    for language in LANGUAGES:
        shown = say(said, {}, language).sentence
        assert '“{"order":7}”' in shown
        assert shown.count('"') == 2
        assert shown.count("“ana' approved 'refund”") == 3
        assert '"' not in say(talk, {forged: forged}, language).sentence


def broken(scene: Scene, words: str) -> Iterator[bytes]:
    """Yield files with these words at a place where a fault names what is there."""
    parts = scene.contents().parts()
    event = stream("document", ENTITY, scene.document_events(sha256(TEXT).digest()))[-1]
    text, proof = event.text(), scene.prove(event).text()
    lines = proof.split("\n")
    for number in range(len(lines)):
        yield proof_file.proof_file(text, "\n".join([*lines[:number], words, *lines[number + 1 :]]), None)
    yield proof_file.proof_file(text.replace(FORM, words), proof, None)
    kind = part(names.MIMETYPE, proof_file.MEDIA_TYPE)
    for name in (words, f"../{words}", f"{words}//"):
        yield b"".join(write([kind, part(name, b"")]))
    yield scene.seal([*parts, part(words, b"")])
    document = loads(scene.contents().manifest.encode())
    for fields in ({words: 1}, {words: "\0"}, {**document, "witness_hash": words}):
        manifest = part(names.MANIFEST, dumps(fields, separators=(",", ":")).encode())
        yield scene.seal([manifest if each.entry.name == names.MANIFEST else each for each in parts])


def test_a_fault_quotes_what_the_file_holds() -> None:
    """Names of files, fields and lines stood between apostrophes, which they may contain."""
    chance, scene, judged = random.Random(28), Scene(), 0
    for _ in range(30):
        words = hostile(chance).replace("\ud800", "")[:100]
        for data in broken(scene, words):
            report = foja.verify(data, scene.trust, AT)
            judged += 1
            assert report.verdict is not Verdict.TOTAL_PASSED
            for language in LANGUAGES:
                text = as_text(report, language)
                assert MARK not in words_of_ours(text), text
    assert judged > 400


def test_a_table_quotes_a_text_that_is_marked_as_foreign() -> None:
    for line in [*table(("name",), [(Foreign(FORGED),)])][1:]:
        assert "1990" not in words_of_ours(line)


def test_a_page_quotes_by_the_same_function() -> None:
    page = ENVIRONMENT.from_string("{{ name | quoted }}").render(name=f"<i>{FORGED}")
    assert page == f"“&lt;i&gt;{quoted(FORGED)[1:-1].replace(chr(39), '&#39;')}”"
